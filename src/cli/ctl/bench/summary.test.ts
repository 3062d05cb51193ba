import { expect, test } from "vitest";
import pc from "picocolors";
import { millis } from "../../../core/ids.ts";
import { benchPage } from "../../render/bench-page.ts";
import { benchPrompt } from "./prompt.ts";
import { type Measured, summarise } from "./summary.ts";

const load = { model: "smol", router: "http://127.0.0.1:8080", concurrency: 4, seconds: 10 };
const answered = (firstTokenMs: number, answerMs: number, completionTokens: number): Measured => ({
  kind: "answered",
  firstTokenMs,
  answerMs,
  promptTokens: 100,
  completionTokens,
});
const looking = { now: millis(0), colours: pc.createColors(false) };

test("percentiles are values that were measured", () => {
  const measured = Array.from({ length: 100 }, (_, at) => answered(at + 1, at + 101, 11));
  const { firstTokenMs, perTokenMs, tokensPerSecond } = summarise(load, measured);
  expect(firstTokenMs).toEqual({ p50: 50, p90: 90, p99: 99, max: 100, mean: 50.5 });
  expect(perTokenMs).toEqual({ p50: 10, p90: 10, p99: 10, max: 10, mean: 10 });
  expect(tokensPerSecond).toBe(110);
});

test.each([
  { name: "nothing measured", measured: [], p99: 0 },
  { name: "one", measured: [answered(7, 9, 2)], p99: 7 },
  { name: "an answer of one token has no time between tokens", measured: [answered(7, 7, 1)], p99: 7 },
])("$name", ({ measured, p99 }) => {
  expect(summarise(load, measured).firstTokenMs.p99).toBe(p99);
});

test("failures are counted by what they are", () => {
  const failed = (message: string): Measured => ({ kind: "failed", code: "MODEL_NOT_READY", message });
  const summary = summarise(load, [failed("no replica"), answered(1, 2, 3), failed("no replica now")]);
  expect(summary.failures).toEqual([{ code: "model_not_ready", count: 2, message: "no replica" }]);
  expect([summary.done, summary.failed]).toEqual([1, 2]);
});

test("the page", () => {
  const measured: readonly Measured[] = [
    answered(120.4, 1120.4, 101),
    answered(80, 980, 101),
    { kind: "failed", code: "OVERLOADED", message: "the queue is full" },
  ];
  expect(benchPage(summarise(load, measured), looking)).toMatchInlineSnapshot(`
    "smol through http://127.0.0.1:8080: 3 requests, 4 at once, 10s

    TIME                    P50      P90      P99      MAX     MEAN
    first token         80.0 ms   120 ms   120 ms   120 ms   100 ms
    per token after it  9.00 ms  10.0 ms  10.0 ms  10.0 ms  9.50 ms
    whole answer         980 ms  1120 ms  1120 ms  1120 ms  1050 ms

    0.20 answers/s, 20.2 tokens/s (202 tokens of answers, 200 of prompts)
    1 failed: overloaded: the queue is full
    "
  `);
  const narrow = benchPage(summarise(load, measured), { ...looking, width: 30 });
  expect(narrow.split("\n").filter((line) => line.length > 30)).toEqual([]);
});

test("prompts are about as long as asked for, the same for a seed and different from the first word for another", () => {
  expect(benchPrompt(200, 3).split(" ")).toHaveLength(200);
  expect(benchPrompt(200, 3)).toBe(benchPrompt(200, 3));
  const prompts = Array.from({ length: 50 }, (_, seed) => benchPrompt(60, seed));
  expect(new Set(prompts.map((prompt) => prompt.split(" ")[0])).size).toBe(50);
  expect(benchPrompt(1, 0)).toMatch(/^0 Write/);
});
