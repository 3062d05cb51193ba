import { describe, expect, test } from "vitest";
import { millis } from "./ids.ts";
import { dayFromText, dayOf, dayText, firstDayOf, monthOf, monthOfDay, untilNextDay, untilNextMonth } from "./usage.ts";

const at = (text: string) => millis(Date.parse(text));

describe("days and months in UTC", () => {
  test.each([
    ["1970-01-01T00:00:00Z", "1970-01-01", 86_400_000, 31 * 86_400_000],
    ["2026-12-31T23:59:59.999Z", "2026-12-31", 1, 1],
    ["2028-02-29T12:00:00Z", "2028-02-29", 43_200_000, 43_200_000],
  ])("%s", (moment, day, toNextDay, toNextMonth) => {
    expect(dayText(dayOf(at(moment)))).toBe(day);
    expect(dayFromText(day)).toBe(dayOf(at(moment)));
    expect(untilNextDay(at(moment))).toBe(toNextDay);
    expect(untilNextMonth(at(moment))).toBe(toNextMonth);
    expect(monthOfDay(dayOf(at(moment)))).toBe(monthOf(at(moment)));
    expect(dayText(firstDayOf(monthOf(at(moment))))).toBe(`${day.slice(0, 7)}-01`);
  });

  test.each(["", "2026-02-30", "2026-13-01", "yesterday", "2026-1-1", "2026-01-01T00:00:00Z"])(
    "%j is no day",
    (text) => {
      expect(dayFromText(text)).toBeUndefined();
    },
  );
});
