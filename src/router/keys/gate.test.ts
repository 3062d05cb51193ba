import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type KeyGrant, NO_LIMITS } from "../../core/client-key.ts";
import { systemClock } from "../../platform/clock.ts";
import { Gate } from "./gate.ts";
import { KeyBook } from "./key-book.ts";
import { masked } from "./shown-key.ts";

const SECRET = "sk-llmgw-0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const grant: KeyGrant = {
  id: "key-1",
  name: "app",
  sha256: createHash("sha256").update(SECRET).digest("hex"),
  models: [],
  limits: NO_LIMITS,
  expiresAt: undefined,
};

const book = new KeyBook();
book.update({ revision: 1, keys: [grant] });
const gate = new Gate("keys", book, systemClock);

test("no text but the key opens, and none makes it throw or tells itself", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: "binary" }), fc.string({ minLength: 20 })),
      fc.boolean(),
      (text, isBearer) => {
        fc.pre(text.trim() !== SECRET);
        const entered = gate.enter(isBearer ? { authorization: `Bearer ${text}` } : { "x-api-key": text });
        expect(entered.ok).toBe(false);
        const shown = entered.ok ? "" : entered.error.refusal.message;
        if (text.length >= 20) expect(shown).not.toContain(text);
      },
    ),
  );
});

test("a key that changed keeps its counts; one that is gone opens nothing", () => {
  const changing = new KeyBook();
  changing.update({ revision: 1, keys: [grant] });
  const before = changing.find(SECRET);
  changing.update({ revision: 2, keys: [{ ...grant, models: ["m"] }] });
  expect(changing.find(SECRET)).toBe(before);
  expect([before?.mayAsk("m"), before?.mayAsk("n")]).toEqual([true, false]);
  changing.update({ revision: 3, keys: [] });
  expect(changing.find(SECRET)).toBeUndefined();
});

describe("what is shown of a key", () => {
  test.each([
    [SECRET, "sk-***DEFG"],
    ["some-other-service-key-1234", "***1234"],
    ["short", "***"],
    ["nineteen-characters", "***"],
    ["a key with a space and more", "***"],
    ["", "***"],
  ])("%s", (key, shown) => {
    expect(masked(key)).toBe(shown);
  });
});
