import { expect, test } from "vitest";
import { frame } from "./frame.ts";

test.each([
  { name: "fits", text: "a\nb\n", rows: 2, want: ["a", "b"] },
  { name: "one too many", text: "a\nb\nc\n", rows: 2, want: ["a", "… and 2 more lines"] },
  { name: "a screen of one row", text: "a\nb\n", rows: 1, want: ["… and 2 more lines"] },
  { name: "empty lines count", text: "a\n\nb\n", rows: 3, want: ["a", "", "b"] },
])("$name", ({ text, rows, want }) => {
  expect(frame(text, rows)).toEqual(want);
});
