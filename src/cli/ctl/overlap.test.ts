import { expect, test } from "vitest";
import { newLines } from "./overlap.ts";

test.each([
  { name: "nothing was printed", printed: [], batch: ["a", "b"], want: ["a", "b"] },
  { name: "nothing is new", printed: ["x", "a", "b"], batch: ["a", "b"], want: [] },
  { name: "one is new", printed: ["x", "a", "b"], batch: ["a", "b", "c"], want: ["c"] },
  {
    name: "the batch goes further back than our memory",
    printed: ["b", "c"],
    batch: ["a", "b", "c", "d"],
    want: ["d"],
  },
  { name: "everything is new, as after a restart", printed: ["a", "b"], batch: ["c", "d"], want: ["c", "d"] },
  { name: "the same line again and again", printed: ["a", "a"], batch: ["a", "a", "a"], want: [] },
])("$name", ({ printed, batch, want }) => {
  expect(newLines(printed, batch)).toEqual(want);
});
