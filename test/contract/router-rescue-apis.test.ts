import Anthropic from "@anthropic-ai/sdk";
import { afterEach, describe, expect, test } from "vitest";
import type { EngineApi } from "../../src/core/engine-api.ts";
import { counts, dies, DONE, dyingEngines, ends, event } from "../fakes/dying-engines.ts";
import { finish, type Part, role, say } from "../fakes/dying-engines.ts";
import type { RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const ALWAYS: readonly EngineApi[] = ["chat", "messages", "continues-last-message"];
const ASKED: readonly EngineApi[] = ["chat", "messages", "responses", "continues-when-asked", "template-settings"];

interface Event {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface Asking {
  readonly path: string;
  readonly apis: readonly EngineApi[];
  readonly ask: object;
}

async function answerOf(parts: readonly Part[], { path, apis, ask }: Asking) {
  const site = await dyingEngines(parts, { apis });
  harness = site.harness;
  const text = await (await harness.post(ask, { path })).text();
  const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json ?? "") as Event);
  return { text, events, types: events.map(({ type }) => type), bodies: site.bodies, paths: site.paths };
}

/** An event as engines write it that have the API themselves. */
const named = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
/** What goes on as chat. */
const rest = (...texts: readonly string[]): Part =>
  ends(role("b"), ...texts.map((text) => say("b", text)), finish("b"), counts("b", 14, texts.length), DONE);

describe("Messages of an engine that has them", () => {
  const usage = { input_tokens: 3, cache_read_input_tokens: 9, output_tokens: 0 };
  const message = {
    id: "msg_a",
    type: "message",
    role: "assistant",
    content: [],
    model: "a",
    stop_reason: null,
    usage,
  };
  const START = named("message_start", { message });
  const OPEN = named("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
  const delta = (text: string): string =>
    named("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
  const HALF = [START, named("ping", {}), OPEN, delta("Hello"), delta(" you")];
  const CLOSE = named("content_block_stop", { index: 0 });
  const STOP = named("message_delta", {
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 2 },
  });
  const thinking = named("content_block_start", { index: 0, content_block: { type: "thinking", thinking: "" } });
  const tool = named("content_block_start", {
    index: 1,
    content_block: { type: "tool_use", id: "t", name: "f", input: {} },
  });

  const ASK = { model: "m", stream: true, temperature: 0, max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
  const asking = (more: object = {}, apis = ALWAYS): Asking => ({
    path: "/v1/messages",
    apis,
    ask: { ...ASK, ...more },
  });
  const textOf = (events: readonly Event[]): string =>
    events.map(({ delta }) => (delta as { readonly text?: string } | undefined)?.text ?? "").join("");

  test.each([
    ["engines that always go on", ALWAYS, {}],
    ["engines that do when asked", ASKED, { continue_final_message: true, add_generation_prompt: false }],
  ])("go on as chat, in the same message and block: %s", async (_name, apis, flags) => {
    const ask = asking({ system: "Be kind.", stop_sequences: ["END"] }, apis);
    const { text, events, types, bodies, paths } = await answerOf([dies(...HALF), rest("!", " Bye")], ask);
    expect(text.startsWith(HALF.join(""))).toBe(true);
    expect(textOf(events)).toBe("Hello you! Bye");
    const ended = ["content_block_delta", "content_block_delta", "content_block_stop", "message_delta", "message_stop"];
    expect(types.slice(HALF.length)).toEqual(ended);
    expect(events.at(-4)).toMatchObject({ index: 0, delta: { text: " Bye" } });
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "end_turn" }, usage: { output_tokens: 4 } });
    expect(paths).toEqual(["/v1/messages", "/v1/chat/completions"]);
    expect(bodies[1]).toMatchObject({
      max_tokens: 7,
      stop: ["END"],
      messages: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "hi" },
        { role: "assistant", content: "Hello you" },
      ],
      ...flags,
    });
    expect(await harness.logged({ model: "m" })).toMatchObject({
      ...{ attempts: 2, code: 200, outcome: "complete", prompt_tokens: 12, completion_tokens: 4, estimated: true },
    });
  });

  test("are one message to the official client", async () => {
    const site = await dyingEngines([dies(...HALF), rest("!")], { apis: ALWAYS });
    harness = site.harness;
    const client = new Anthropic({ baseURL: harness.url, apiKey: "sk-x", maxRetries: 0 });
    const said = await client.messages
      .stream({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] })
      .finalMessage();
    expect(said).toMatchObject({
      id: "msg_a",
      content: [{ type: "text", text: "Hello you!" }],
      stop_reason: "end_turn",
    });
  });

  test("a call that comes then is a block of its own", async () => {
    const call = event("b", {
      delta: { tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}" } }] },
    });
    const calls = event("b", { delta: {}, finish_reason: "tool_calls" });
    const { events } = await answerOf([dies(...HALF), ends(role("b"), call, calls, DONE)], asking());
    expect(events.slice(HALF.length)).toMatchObject([
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "c", name: "f" } },
      { type: "content_block_delta", index: 1 },
      { type: "content_block_stop", index: 1 },
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ]);
  });

  test("twice", async () => {
    const parts = [dies(...HALF), dies(role("b"), say("b", "!")), rest(" Bye")];
    const { events, bodies } = await answerOf(parts, asking());
    expect(textOf(events)).toBe("Hello you! Bye");
    expect(bodies[2]).toMatchObject({ max_tokens: 6, messages: [{}, { role: "assistant", content: "Hello you!" }] });
    expect(await harness.logged({ model: "m" })).toMatchObject({ attempts: 3, outcome: "complete" });
  });

  test.each([
    ["before its message", [named("ping", {})], ["message_start", "content_block_start", "content_block_delta"]],
    ["before its text", [START], ["content_block_start", "content_block_delta"]],
    ["before the first word of it", [START, OPEN], ["content_block_delta"]],
  ])("are asked anew %s", async (_name, said, begins) => {
    const { types, events, bodies } = await answerOf([dies(...said), rest("Hi")], asking());
    expect(types.slice(said.length)).toEqual([...begins, "content_block_stop", "message_delta", "message_stop"]);
    expect(textOf(events)).toBe("Hi");
    expect(bodies[1]).toMatchObject({ max_tokens: 9, messages: [{ role: "user", content: "hi" }] });
  });

  test.each([
    ["the end of the message", [...HALF, CLOSE, STOP], {}, ["message_stop"]],
    ["the last event", [...HALF, CLOSE, STOP, named("message_stop", {})], {}, []],
    ["the last token", HALF, { max_tokens: 2 }, ["content_block_stop", "message_delta", "message_stop"]],
  ])("end as they should after %s", async (_name, said, more, types) => {
    const { text, types: all, events, paths } = await answerOf([dies(...said)], asking(more));
    expect(text.startsWith(said.join(""))).toBe(true);
    expect(all.slice(said.length)).toEqual(types);
    const stop = events.find(({ type }) => type === "message_delta");
    expect(stop).toMatchObject({ usage: { output_tokens: 2 } });
    expect(stop).toMatchObject({ delta: { stop_reason: "max_tokens" in more ? "max_tokens" : "end_turn" } });
    expect(paths).toHaveLength(1);
    expect(await harness.logged({ model: "m" })).toMatchObject({
      ...{ attempts: 1, outcome: "complete", prompt_tokens: 12, completion_tokens: 2 },
    });
  });

  test.each<{ name: string; said: readonly string[]; more?: object; apis?: readonly EngineApi[]; says: string }>([
    { name: "a thought", said: [START, thinking], says: "its thinking had begun" },
    { name: "a tool's call", said: [...HALF, CLOSE, tool], says: "its text had ended" },
    { name: "two blocks", said: [...HALF, tool], says: "its tool_use had begun" },
    {
      name: "a call that must come",
      said: HALF,
      more: { tools: [{ name: "f", input_schema: {} }], tool_choice: { type: "any" } },
      says: "a call of a tool",
    },
    {
      name: "a stop sequence that has begun",
      said: HALF,
      more: { stop_sequences: ["you too"] },
      says: "a stop sequence",
    },
    {
      name: "a document that chat cannot be given",
      said: HALF,
      more: {
        messages: [{ role: "user", content: [{ type: "document", source: { type: "url", url: "http://x/" } }] }],
      },
      says: "document",
    },
    {
      name: "a beginning of the client's own, taken in its engine's way",
      said: HALF,
      more: { messages: [...ASK.messages, { role: "assistant", content: "So" }] },
      apis: ASKED,
      says: "the client's own beginning",
    },
    { name: "an engine that cannot go on", said: HALF, apis: ["chat", "messages"], says: "closed in the middle" },
  ])("end with an error event: $name", async ({ said, more = {}, apis, says }) => {
    const { text, types } = await answerOf([dies(...said)], asking(more, apis));
    expect(text.startsWith(said.join(""))).toBe(true);
    expect(types.slice(said.length)).toEqual(["error"]);
    expect((await harness.logged({ outcome: "broke" }))["detail"]).toContain(says);
  });
});

describe("Responses", () => {
  const ASK = { model: "m", stream: true, temperature: 0, max_output_tokens: 9, instructions: "Be kind.", input: "hi" };
  const asking = (more: object = {}, apis = ASKED): Asking => ({
    path: "/v1/responses",
    apis,
    ask: { ...ASK, ...more },
  });
  const response = {
    id: "resp_a",
    object: "response",
    created_at: 7,
    model: "a",
    status: "in_progress",
    output: [],
    max_output_tokens: 9,
  };
  const events = (...all: readonly (readonly [string, object])[]): readonly string[] =>
    all.map(([type, fields], number) => named(`response.${type}`, { sequence_number: number, ...fields }));
  const at = { item_id: "msg_a", output_index: 0, content_index: 0 };
  const CREATED = ["created", { response }] as const;
  const ADDED = [
    "output_item.added",
    { output_index: 0, item: { id: "msg_a", type: "message", content: [] } },
  ] as const;
  const OPENED = ["content_part.added", { ...at, part: { type: "output_text", text: "", annotations: [] } }] as const;
  const delta = (text: string) => ["output_text.delta", { ...at, delta: text, logprobs: [] }] as const;
  const HALF = [CREATED, ["in_progress", { response }], ADDED, OPENED, delta("Hello"), delta(" you")] as const;
  const textOf = (all: readonly Event[]): string =>
    all.map(({ type, delta }) => (type === "response.output_text.delta" ? String(delta) : "")).join("");

  test("of an engine that has them go on as chat, in the same item, and end with the whole text", async () => {
    const said = events(...HALF);
    const { text, events: all, types, bodies, paths } = await answerOf([dies(...said), rest("!", " Bye")], asking());
    expect(text.startsWith(said.join(""))).toBe(true);
    expect(textOf(all)).toBe("Hello you! Bye");
    expect(types.slice(said.length)).toEqual([
      ...["response.output_text.delta", "response.output_text.delta", "response.output_text.done"],
      ...["response.content_part.done", "response.output_item.done", "response.completed"],
    ]);
    expect(all.map(({ sequence_number: number }) => number)).toEqual(all.map((_, number) => number));
    expect(all.at(-4)).toMatchObject({ ...at, text: "Hello you! Bye" });
    const { response: whole } = all.at(-1) as unknown as { readonly response: object };
    expect(whole).toMatchObject({
      ...{ id: "resp_a", created_at: 7, model: "a", status: "completed", max_output_tokens: 9 },
      output: [{ id: "msg_a", type: "message", content: [{ type: "output_text", text: "Hello you! Bye" }] }],
      usage: { input_tokens: 12, output_tokens: 4, total_tokens: 16 },
    });
    expect(paths).toEqual(["/v1/responses", "/v1/chat/completions"]);
    expect(bodies[1]).toMatchObject({
      max_tokens: 7,
      continue_final_message: true,
      messages: [{}, {}, { content: "Hello you" }],
    });
    expect(await harness.logged({ model: "m" })).toMatchObject({
      ...{ attempts: 2, code: 200, outcome: "complete", prompt_tokens: 12, completion_tokens: 4, estimated: true },
    });
  });

  test("that are asked as chat go on too", async () => {
    const parts = [dies(role("a"), say("a", "Hello")), rest(" you")];
    const { events: all, types } = await answerOf(parts, asking({}, ALWAYS));
    expect(textOf(all)).toBe("Hello you");
    expect(all.map(({ sequence_number: number }) => number)).toEqual(all.map((_, number) => number));
    expect(types.filter((type) => type === "response.created")).toHaveLength(1);
    expect(all.at(-1)).toMatchObject({ type: "response.completed", response: { usage: { output_tokens: 2 } } });
    expect(JSON.stringify(all.at(-1))).toContain('"text":"Hello you"');
  });

  test("twice", async () => {
    const parts = [dies(...events(...HALF)), dies(role("b"), say("b", "!")), rest(" Bye")];
    const { events: all } = await answerOf(parts, asking());
    expect(textOf(all)).toBe("Hello you! Bye");
    expect(all.map(({ sequence_number: number }) => number)).toEqual(all.map((_, number) => number));
    expect(JSON.stringify(all.at(-1))).toContain('"text":"Hello you! Bye"');
  });

  test("a call that comes then is an item of its own", async () => {
    const call = event("b", {
      delta: { tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}" } }] },
    });
    const parts = [dies(...events(...HALF)), ends(call, event("b", { delta: {}, finish_reason: "tool_calls" }), DONE)];
    const { events: all } = await answerOf(parts, asking({ tools: [{ type: "function", name: "f" }] }));
    expect(all.at(-1)).toMatchObject({
      response: { output: [{ id: "msg_a" }, { type: "function_call", call_id: "c", name: "f", arguments: "{}" }] },
    });
  });

  test("end as incomplete with the last token that was asked for", async () => {
    const { events: all, types } = await answerOf([dies(...events(...HALF))], asking({ max_output_tokens: 2 }));
    expect(types.at(-1)).toBe("response.incomplete");
    expect(all.at(-1)).toMatchObject({
      response: { incomplete_details: { reason: "max_output_tokens" }, usage: { output_tokens: 2 } },
    });
    expect(await harness.logged({ model: "m" })).toMatchObject({ attempts: 1, completion_tokens: 2, estimated: true });
  });

  test("lack nothing after their last event", async () => {
    const said = events(...HALF, ["completed", { response: { ...response, status: "completed" } }]);
    const { text } = await answerOf([dies(...said)], asking());
    expect(text).toBe(said.join(""));
    expect(await harness.logged({ model: "m" })).toMatchObject({ attempts: 1, outcome: "complete" });
  });

  test.each<{ name: string; said: readonly string[]; more?: object; says: string }>([
    {
      name: "a thought",
      said: events(CREATED, ["output_item.added", { output_index: 0, item: { type: "reasoning" } }]),
      says: "its reasoning had begun",
    },
    { name: "an item without its text", said: events(CREATED, ADDED), says: "its text was about to begin" },
    {
      name: "a text that is whole",
      said: events(...HALF, ["output_text.done", { ...at, text: "Hello you" }]),
      says: "output_text.done had come",
    },
    { name: "events without numbers", said: [named("response.created", { response })], says: "not numbered" },
    { name: "probabilities", said: events(...HALF), more: { top_logprobs: 2 }, says: "probabilities" },
    { name: "a form", said: events(...HALF), more: { text: { format: { type: "json_object" } } }, says: "form" },
  ])("end with an error event: $name", async ({ said, more = {}, says }) => {
    const { text, types } = await answerOf([dies(...said)], asking(more));
    expect(text.startsWith(said.join(""))).toBe(true);
    expect(types.slice(said.length)).toEqual(["error"]);
    expect((await harness.logged({ outcome: "broke" }))["detail"]).toContain(says);
  });
});
