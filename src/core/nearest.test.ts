import { expect, test } from "vitest";
import { didYouMean, nearest } from "./nearest.ts";

const known = ["server", "node_id", "labels", "heartbeat_interval", "fabrics"];

test.each([
  { word: "sever", want: "server" },
  { word: "Server", want: "server" },
  { word: "nodeid", want: "node_id" },
  { word: "lables", want: "labels" },
  { word: "heartbeat", want: "heartbeat_interval" },
  { word: "zebra", want: undefined },
  { word: "", want: undefined },
  { word: "x".repeat(10_000), want: undefined },
])("nearest to $word", ({ word, want }) => {
  expect(nearest(word, known)).toBe(want);
});

test("the sentence is empty when nothing is near", () => {
  expect(didYouMean("lables", known)).toBe(' Did you mean "labels"?');
  expect(didYouMean("zebra", known)).toBe("");
});
