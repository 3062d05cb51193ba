import { expect, test } from "vitest";
import { parseSource } from "../core/source.ts";
import { sampleSources } from "./sample.ts";

test("every sample source is one, and noise comes last", () => {
  const sources = sampleSources(undefined);
  for (const source of sources) expect(parseSource(source).ok).toBe(true);
  expect(sources.at(-1)).toBe("tiny:");
  expect(sources[0]).toMatch(/^hf:/);
});

test("what an earlier start settled on comes first, each source once", () => {
  const [, second = ""] = sampleSources(undefined);
  const again = sampleSources(second);
  expect(again[0]).toBe(second);
  expect(new Set(again).size).toBe(again.length);
});

test("noise is not settled on", () => {
  expect(sampleSources("tiny:")).toEqual(sampleSources(undefined));
});
