import { expect, test } from "vitest";
import { millis } from "../../../core/ids.ts";
import { Pace } from "./pace.ts";

test("one after the other, and a rest gives no credit", () => {
  const pace = new Pace(1000);
  const at = (now: number, bytes: number): number => pace.wait(bytes, millis(now));
  expect([at(0, 500), at(0, 500), at(100, 500), at(5_000, 100), at(5_000, 100)]).toEqual([0, 500, 900, 0, 100]);
});
