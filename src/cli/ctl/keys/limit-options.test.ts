import { timestampMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { millis } from "../../../core/ids.ts";
import { Flags } from "../../command.ts";
import { expiryOf, limitsOf, modelsOf } from "./limit-options.ts";

const flags = (given: Readonly<Record<string, unknown>>): Flags => new Flags(new Map(Object.entries(given)));
const NONE = { requestsPerMinute: 0, tokensPerMinute: 0, concurrency: 0, tokensPerDay: 0, tokensPerMonth: 0 };

test.each([
  [{}, NONE],
  [
    { rpm: "60", tpm: "1000", concurrency: "4" },
    { ...NONE, requestsPerMinute: 60, tokensPerMinute: 1000, concurrency: 4 },
  ],
  [{ budget: ["200000/day", "5M/month"] }, { ...NONE, tokensPerDay: 200_000, tokensPerMonth: 5_000_000 }],
  [{ budget: ["10k/day"] }, { ...NONE, tokensPerDay: 10_000 }],
])("%j", (given, limits) => {
  expect(limitsOf(flags(given))).toEqual(limits);
});

test.each([
  [{ rpm: "0" }, "--rpm takes a whole number"],
  [{ concurrency: "many" }, "--concurrency takes a whole number"],
  [{ budget: ["0/day"] }, 'not "0/day"'],
  [{ budget: ["5"] }, 'not "5"'],
  [{ budget: ["5/week"] }, 'not "5/week"'],
  [{ budget: ["1/day", "2/day"] }, "per day twice"],
])("%j is refused", (given, says) => {
  expect(() => limitsOf(flags(given))).toThrow(says);
});

test.each([
  [undefined, undefined],
  ["30d", 30 * 86_400_000 + 5],
])("--expires %s", (expires, at) => {
  const expiry = expiryOf(flags({ expires }), millis(5));
  expect(expiry === undefined ? undefined : timestampMs(expiry)).toBe(at);
});

test.each(["soon", "0s"])("--expires %s is refused", (expires) => {
  expect(() => expiryOf(flags({ expires }), millis(5))).toThrow("--expires");
});

test("models come with commas, or one at a time", () => {
  expect(modelsOf(flags({ models: ["a, b", "org/c:tag,"] }))).toEqual(["a", "b", "org/c:tag"]);
});
