import { expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { meaningOf } from "./stop-signal.ts";

const at = (ms: number, signal = "SIGINT") => ({ signal, at: millis(ms) });

test.each([
  { name: "the first", first: undefined, next: at(0), startedByNpm: false, want: "stop" },
  { name: "a second", first: at(0), next: at(100), startedByNpm: false, want: "exit" },
  { name: "the same press, passed on by npm", first: at(0), next: at(5), startedByNpm: true, want: "echo" },
  { name: "a second press under npm", first: at(0), next: at(400), startedByNpm: true, want: "exit" },
  { name: "another signal under npm", first: at(0), next: at(5, "SIGTERM"), startedByNpm: true, want: "exit" },
])("$name: $want", ({ first, next, startedByNpm, want }) => {
  expect(meaningOf(first, next, { startedByNpm })).toBe(want);
});
