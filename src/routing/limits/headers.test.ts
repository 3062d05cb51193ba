import { expect, test } from "vitest";
import { NO_LIMITS } from "../../core/client-key.ts";
import { millis } from "../../core/ids.ts";
import { alone } from "./decide.ts";
import { goDuration, rateLimitHeaders } from "./headers.ts";
import { KeyUse } from "./use.ts";

test.each([
  [0, "0s"],
  [0.2, "1ms"],
  [12, "12ms"],
  [1_000, "1s"],
  [6_500, "6.5s"],
  [59_001, "59.001s"],
  [60_000, "1m0s"],
  [360_000, "6m0s"],
  [3_723_000, "1h2m3s"],
])("%d ms is %s for Go", (ms, text) => {
  expect(goDuration(ms)).toBe(text);
});

const at = (ms: number) => ({ wall: millis(ms), monotonic: millis(ms) });
const pairs = (flat: readonly string[]) =>
  Object.fromEntries(flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1]]] : [])));

test("what is left counts this request, and never goes below nothing", () => {
  const allowance = alone({ ...NO_LIMITS, requestsPerMinute: 3, tokensPerMinute: 100 });
  const use = new KeyUse();
  use.begin(at(0));
  const headers = (now: number) => pairs(rateLimitHeaders(allowance, use, at(now)));
  expect(headers(10_000)).toEqual({
    "x-ratelimit-limit-requests": "3",
    "x-ratelimit-remaining-requests": "2",
    "x-ratelimit-reset-requests": "50s",
    "x-ratelimit-limit-tokens": "100",
    "x-ratelimit-remaining-tokens": "100",
    "x-ratelimit-reset-tokens": "50s",
  });
  use.settle(250, at(10_000));
  expect(headers(10_000)).toMatchObject({ "x-ratelimit-remaining-tokens": "0" });
  expect(headers(70_000)).toMatchObject({
    "x-ratelimit-remaining-requests": "3",
    "x-ratelimit-reset-requests": "0s",
  });
});

test("a router tells what it may itself still admit", () => {
  const limits = { ...NO_LIMITS, requestsPerMinute: 10 };
  const allowance = { limits, shares: { ...limits, requestsPerMinute: 4 }, parts: 1 };
  expect(pairs(rateLimitHeaders(allowance, new KeyUse(), at(0)))).toMatchObject({
    "x-ratelimit-limit-requests": "10",
    "x-ratelimit-remaining-requests": "4",
  });
});

test("a key without such limits tells nothing", () => {
  const allowance = alone({ ...NO_LIMITS, concurrency: 1, tokensPerDay: 1 });
  expect(rateLimitHeaders(allowance, new KeyUse(), at(0))).toEqual([]);
});
