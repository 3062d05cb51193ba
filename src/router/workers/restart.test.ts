import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { afterWorkerEnd } from "./restart.ts";

test.each([
  { name: "the first time it is back at once", row: 0, lived: 50, next: 1, delay: 0 },
  { name: "one that ends again waits", row: 1, lived: 50, next: 2, delay: 100 },
  { name: "and longer each time", row: 4, lived: 9_999, next: 5, delay: 800 },
  { name: "but no longer than 5 s", row: 40, lived: 50, next: 41, delay: 5_000 },
  { name: "one that was well counts anew", row: 7, lived: 10_000, next: 1, delay: 0 },
])("$name", ({ row, lived, next, delay }) => {
  expect(afterWorkerEnd(row, millis(lived))).toEqual({ row: next, delay });
});
