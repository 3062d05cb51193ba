import { afterEach, expect, test, vi } from "vitest";
import { millis } from "../core/ids.ts";
import { askEngine } from "./probe.ts";

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["a key", { apiKey: "two\nlines" }, "/health"],
  ["a path", { apiKey: "sk" }, "/two words"],
])("%s that no request can carry is an error, and leaves no timer behind", async (_what, { apiKey }, path) => {
  vi.useFakeTimers();
  const target = { host: "127.0.0.1", port: 9, apiKey };
  const limits = { timeout: millis(1000), signal: new AbortController().signal };
  const asked = await askEngine(target, { method: "GET", path, body: undefined }, limits);
  expect(asked.ok).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});
