import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { afterEvent, beforeRequest, GOOD, type Health, type HealthEvent, mayTry } from "./health.ts";

const aside = (cause: "unreachable" | "silent" | "breaking", until: number, times = 1): Health => ({
  kind: "aside",
  cause,
  until: millis(until),
  times,
  isTested: false,
});
const tested = (health: Health): Health => ({ ...health, isTested: true }) as Health;

const cases: readonly { name: string; from: Health; event: HealthEvent; want: Health }[] = [
  { name: "a refused connection sets aside at once", from: GOOD, event: "refused", want: aside("unreachable", 2_000) },
  { name: "so does silence", from: GOOD, event: "timedOut", want: aside("silent", 2_000) },
  { name: "one broken answer is only a strike", from: GOOD, event: "broke", want: { kind: "good", strikes: 1 } },
  {
    name: "the third in a row is one too many",
    from: { kind: "good", strikes: 2 },
    event: "broke",
    want: aside("breaking", 2_000),
  },
  { name: "an answer forgives strikes", from: { kind: "good", strikes: 2 }, event: "answered", want: GOOD },
  {
    name: "each time aside is longer",
    from: aside("unreachable", 1, 3),
    event: "refused",
    want: aside("unreachable", 9_000, 4),
  },
  {
    name: "but never longer than 15 s",
    from: aside("unreachable", 1, 60),
    event: "refused",
    want: aside("unreachable", 16_000, 61),
  },
  {
    name: "a connection is proof for one that was unreachable",
    from: aside("unreachable", 1),
    event: "connected",
    want: GOOD,
  },
  {
    name: "and proves nothing for one that was silent",
    from: aside("silent", 1),
    event: "connected",
    want: aside("silent", 1),
  },
  { name: "an answer is proof for all", from: aside("silent", 1), event: "answered", want: GOOD },
];

describe("afterEvent, at 1000 ms", () => {
  test.each(cases)("$name", ({ from, event, want }) => {
    expect(afterEvent(from, event, millis(1_000))).toEqual(want);
  });
});

test("ten requests that fail together are one failure", () => {
  const events = Array<HealthEvent>(10).fill("timedOut");
  const health = events.reduce((before, event) => afterEvent(before, event, millis(1_000)), GOOD);
  expect(health).toEqual(aside("silent", 2_000));
});

test("a test that fails is another failure, however soon", () => {
  const probing = beforeRequest(aside("silent", 1_000), millis(1_000));
  expect(probing).toEqual(tested(aside("silent", 2_000)));
  expect(afterEvent(probing, "refused", millis(1_001))).toEqual(aside("unreachable", 3_001, 2));
});

test("while one request tests a replica the others keep away", () => {
  const probing = beforeRequest(aside("silent", 1_000), millis(1_000));
  expect(mayTry(aside("silent", 1_000), millis(999))).toBe(false);
  expect(mayTry(aside("silent", 1_000), millis(1_000))).toBe(true);
  expect(mayTry(probing, millis(1_500))).toBe(false);
  expect(beforeRequest(GOOD, millis(5))).toBe(GOOD);
});
