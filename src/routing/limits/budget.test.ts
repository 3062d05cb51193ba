import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { dayOf, monthOf } from "../../core/usage.ts";
import { Budget } from "./budget.ts";

const at = (text: string) => millis(Date.parse(text));
const EVENING = at("2026-10-31T23:00:00Z");
const NEXT = at("2026-11-01T01:00:00Z");
const total = (wall: typeof EVENING, dayTokens: number, monthTokens: number) => ({
  day: dayOf(wall),
  dayTokens,
  month: monthOf(wall),
  monthTokens,
});

test("what is counted for good takes the place of what was on its way, once", () => {
  const budget = new Budget();
  budget.add(30, EVENING);
  budget.add(12, EVENING);
  expect(budget.ofDay(EVENING)).toEqual([0, 42]);
  budget.acknowledge(30, EVENING);
  budget.setTotal(total(EVENING, 130, 1_030));
  expect([budget.ofDay(EVENING), budget.ofMonth(EVENING)]).toEqual([
    [130, 12],
    [1_030, 12],
  ]);
});

test("a new day begins at nothing, whoever notices first; so does a month", () => {
  const budget = new Budget();
  budget.add(5, EVENING);
  budget.setTotal(total(EVENING, 100, 200));
  expect([budget.ofDay(NEXT), budget.ofMonth(NEXT)]).toEqual([
    [0, 0],
    [0, 0],
  ]);
  budget.add(7, NEXT);
  budget.acknowledge(5, EVENING);
  expect([budget.ofDay(NEXT), budget.ofMonth(NEXT)]).toEqual([
    [0, 7],
    [0, 7],
  ]);
  const sameMonth = at("2026-11-02T01:00:00Z");
  budget.add(1, sameMonth);
  expect([budget.ofDay(sameMonth), budget.ofMonth(sameMonth)]).toEqual([
    [0, 1],
    [0, 8],
  ]);
});

test("acknowledged twice is not below nothing", () => {
  const budget = new Budget();
  budget.add(5, NEXT);
  budget.acknowledge(5, NEXT);
  budget.acknowledge(5, NEXT);
  expect(budget.ofDay(NEXT)).toEqual([0, 0]);
});
