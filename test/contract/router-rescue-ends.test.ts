import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { counts, dies, DONE, dyingEngines, type EngineOptions, ends, event } from "../fakes/dying-engines.ts";
import { finish, type Part, role, say } from "../fakes/dying-engines.ts";
import { chunk, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import type { RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const ASK = { model: "m", stream: true, temperature: 0, max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
const COUNTED = { stream_options: { include_usage: true } };

/** What the client is sent, and what the engines were asked. */
async function answerOf(parts: readonly Part[], ask: object, options: EngineOptions & { readonly path?: string } = {}) {
  const site = await dyingEngines(parts, options);
  harness = site.harness;
  const response = await harness.post({ ...ASK, ...ask }, options.path === undefined ? {} : { path: options.path });
  return { text: await response.text(), bodies: site.bodies };
}

const HALF = [role("a"), say("a", "Hello"), say("a", " you")];
const call = event("a", { delta: { tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}" } }] } });
const called = event("a", { delta: {}, finish_reason: "tool_calls" });
const other = (delta: object, reason: string | null = null): string =>
  event("a", { index: 1, delta, finish_reason: reason });
/** More than is kept of what nobody could go on with. */
const LONG_THOUGHT = Array.from({ length: 900 }, () => event("a", { delta: { reasoning_content: "hm, ".repeat(16) } }));
const usageIn = (text: string): unknown =>
  [...text.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, json]) => (JSON.parse(json ?? "") as { readonly usage?: unknown }).usage)
    .find((usage) => usage !== undefined);

describe("a stream whose engine dies after it has said its end", () => {
  test.each<{ name: string; ask?: object; said: readonly string[]; more: string }>([
    { name: "gets what shows that it is whole", said: [...HALF, finish("a")], more: DONE },
    { name: "with a tool's call in it", said: [role("a"), call, called], more: DONE },
    {
      name: "with a thought in it",
      said: [event("a", { delta: { reasoning_content: "hm" } }), finish("a")],
      more: DONE,
    },
    { name: "after more thoughts than are read twice", said: [...LONG_THOUGHT, finish("a")], more: DONE },
    { name: "and its counts", ask: COUNTED, said: [...HALF, finish("a"), counts("a", 5, 2)], more: DONE },
    { name: "lacks nothing after [DONE]", said: [...HALF, finish("a"), DONE], more: "" },
    {
      name: "of two answers, both of them",
      ask: { n: 2 },
      said: [...HALF, other({ content: "Hi" }), other({}, "stop"), finish("a")],
      more: DONE,
    },
    { name: "with a seed", ask: { seed: 7, temperature: 1 }, said: [...HALF, finish("a")], more: DONE },
  ])("$name", async ({ ask = {}, said, more }) => {
    const { text, bodies } = await answerOf([dies(...said)], ask);
    expect(text).toBe(said.join("") + more);
    expect(bodies).toHaveLength(1);
    expect(await harness.logged({ model: "m" })).toMatchObject({ attempts: 1, code: 200, outcome: "complete" });
    expect(await harness.metric('llmgw_router_streams_cut_total{reason="broke"}')).toBe(0);
  });

  test("is given the counts that it asked for, told to be estimates", async () => {
    const { text } = await answerOf([dies(...HALF, finish("a"))], COUNTED);
    expect(text.endsWith(DONE)).toBe(true);
    const usage = usageIn(text);
    expect(usage).toMatchObject({ completion_tokens: expect.any(Number) as unknown, estimated: true });
    expect(text).toContain('"id":"id-a","created":1,"model":"a","choices":[],"usage"');
    const line = await harness.logged({ model: "m" });
    expect(line).toMatchObject({ outcome: "complete", estimated: true });
    const { prompt_tokens: prompt, completion_tokens: completion } = line;
    expect(usage).toMatchObject({ prompt_tokens: prompt, completion_tokens: completion });
  });

  test("is given the engine's own counts where it told them on the way", async () => {
    const end = event(
      "a",
      { delta: {}, finish_reason: "stop" },
      { timings: { cache_n: 3, prompt_n: 4, predicted_n: 2 } },
    );
    const { text } = await answerOf([dies(...HALF, end)], COUNTED);
    expect(usageIn(text)).toEqual({
      ...{ prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
      prompt_tokens_details: { cached_tokens: 3 },
    });
    expect((await harness.logged({ model: "m" }))["estimated"]).toBeUndefined();
  });

  test("shows no counts to who asked for none", async () => {
    const { text } = await answerOf([dies(...HALF, finish("a"))], {});
    expect(text).not.toContain("usage");
    expect(await harness.logged({ model: "m" })).toMatchObject({ outcome: "complete", estimated: true });
  });

  test("in other words than the client's", async () => {
    const { text } = await answerOf([dies(...HALF, finish("a"))], {}, { path: "/v1/messages" });
    expect(text).toContain("event: message_delta");
    expect(text).toMatch(/event: message_stop\ndata: .*\n\n$/);
    expect(text).not.toContain("error");
    expect(await harness.logged({ model: "m" })).toMatchObject({ outcome: "complete", estimated: true });
  });

  test("or falls silent then", async () => {
    const silent: Part = async (connection) => {
      await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk(HALF.join("") + finish("a"))]));
      await connection.closed;
    };
    const { text } = await answerOf([silent], {}, { limits: { idle: millis(100) } });
    expect(text).toBe(HALF.join("") + finish("a") + DONE);
  });

  test("or inside the events that come after it", async () => {
    const half = counts("a", 5, 2).slice(0, 30);
    const { text } = await answerOf([dies(...HALF, finish("a"), half)], COUNTED);
    expect(text.endsWith(DONE)).toBe(true);
    expect(usageIn(text)).toMatchObject({ estimated: true });
  });

  test("of another that went on before", async () => {
    const { text } = await answerOf([dies(...HALF), dies(role("b"), say("b", "!"), finish("b"))], {});
    expect(text).toBe(`${HALF.join("")}${say("a", "!")}${finish("a")}${DONE}`.replaceAll('"created":2', '"created":1'));
    expect(await harness.logged({ model: "m" })).toMatchObject({ attempts: 2, outcome: "complete", estimated: true });
  });
});

describe("a stream whose engine dies with the last token that was asked for", () => {
  test("ends by its length", async () => {
    const { text, bodies } = await answerOf([dies(...HALF)], { ...COUNTED, max_tokens: 2 });
    expect(text.startsWith(HALF.join(""))).toBe(true);
    expect(text).toContain('"delta":{},"finish_reason":"length"');
    expect(usageIn(text)).toMatchObject({ completion_tokens: 2, estimated: true });
    expect(text.endsWith(DONE)).toBe(true);
    expect(bodies).toHaveLength(1);
    expect(await harness.logged({ model: "m" })).toMatchObject({
      ...{ attempts: 1, code: 200, outcome: "complete" },
      ...{ completion_tokens: 2, estimated: true },
    });
  });

  test("at another that went on too, with the tokens of both", async () => {
    const parts = [dies(...HALF), dies(role("b"), say("b", "!"))];
    const { text, bodies } = await answerOf(parts, { ...COUNTED, max_tokens: 3 });
    expect(bodies).toHaveLength(2);
    expect(usageIn(text)).toMatchObject({ completion_tokens: 3 });
    expect(text.match(/"finish_reason":"length"/g)).toHaveLength(1);
    expect(await harness.logged({ model: "m" })).toMatchObject({ attempts: 2, completion_tokens: 3 });
  });

  test("of a completion", async () => {
    const text = (text: string): string => `data: ${JSON.stringify({ choices: [{ text, index: 0 }], id: "x" })}\n\n`;
    const { text: sent } = await answerOf(
      [dies(text(" is"))],
      { prompt: "It", max_tokens: 1, messages: undefined },
      { path: "/v1/completions" },
    );
    expect(sent).toContain('"choices":[{"index":0,"text":"","finish_reason":"length"}]');
    expect(sent.endsWith(DONE)).toBe(true);
  });

  test("also where another could not go on", async () => {
    const { text } = await answerOf([dies(...HALF)], { max_tokens: 2, response_format: { type: "json_object" } });
    expect(text).toContain('"finish_reason":"length"');
  });
});

describe("a stream that is not whole, or not known to be,", () => {
  test.each<{ name: string; ask?: object; said: readonly string[]; rescues?: boolean }>([
    { name: "of which nothing is kept", said: [...HALF, finish("a")], rescues: false },
    { name: "of two answers, one of which has ended", ask: { n: 2 }, said: [...HALF, finish("a")] },
    { name: "of two prompts", ask: { prompt: ["a", "b"] }, said: [...HALF, finish("a")] },
    { name: "in which the engine told of an error", said: [...HALF, 'data: {"error":{"message":"no"}}\n\n', DONE] },
    { name: "with half a call at the last token", ask: { max_tokens: 2 }, said: [...HALF, call] },
  ])("$name: ends with an error event", async ({ ask = {}, said, rescues = true }) => {
    const { text } = await answerOf([dies(...said), ends()], ask, { rescues });
    expect(text.startsWith(said.join(""))).toBe(true);
    expect(text.slice(said.join("").length)).toMatch(/^data: \{"error":\{.*\}\}\n\n$/);
    expect(await harness.logged({ outcome: "broke" })).toMatchObject({ code: 502, attempts: 1 });
  });
});
