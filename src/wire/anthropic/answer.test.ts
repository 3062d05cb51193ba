import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../../test/fakes/cut.ts";
import { ChatStream } from "../chat/stream.ts";
import { readWholeAnswer } from "../chat/whole.ts";
import { SseSplitter } from "../sse/splitter.ts";
import { messageOf, type MessagesAsk, MessagesSpeaker } from "./answer.ts";

const ASK: MessagesAsk = { wantsThinking: true, stopSequences: ["END"], requestId: "req_1" };

const chunk = (delta: unknown, more: Readonly<Record<string, unknown>> = {}): string =>
  `data: ${JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 5,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  })}\n\n`;
const usage = {
  prompt_tokens: 20,
  completion_tokens: 7,
  total_tokens: 27,
  prompt_tokens_details: { cached_tokens: 15 },
};
const USAGE = `data: ${JSON.stringify({ id: "chatcmpl-1", choices: [], usage })}\n\n`;
const DONE = "data: [DONE]\n\n";

const THINKS_AND_CALLS =
  chunk({ role: "assistant", content: null }) +
  chunk({ reasoning_content: "Let me " }) +
  chunk({ reasoning_content: "look." }) +
  chunk({ content: "I look — 北京🌍." }) +
  chunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "read", arguments: "" } }] }) +
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"path":' } }] }) +
  chunk({ tool_calls: [{ index: 0, function: { arguments: '"a.ts"}' } }] }) +
  chunk({}, { finish_reason: "tool_calls" }) +
  USAGE +
  DONE;

function said(text: string, { ask = ASK, cuts = [] }: { ask?: MessagesAsk; cuts?: readonly number[] } = {}): string {
  const stream = new ChatStream(new MessagesSpeaker(ask));
  const pieces = cut(Buffer.from(text), cuts).map((piece) => stream.push(piece));
  return pieces.join("") + stream.finish();
}

/** The events; each one's name is its type. */
function events(text: string, options?: Parameters<typeof said>[1]): readonly Record<string, unknown>[] {
  const splitter = new SseSplitter();
  const all = [...splitter.push(new TextEncoder().encode(said(text, options))), ...splitter.finish()];
  return all.map(({ name, data }) => {
    const value = JSON.parse(data) as Record<string, unknown>;
    expect(value["type"]).toBe(name);
    return value;
  });
}

const types = (text: string): readonly unknown[] => events(text).map(({ type }) => type);

test("a stream with thoughts, text and a call, event by event", () => {
  expect(events(THINKS_AND_CALLS)).toEqual([
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Let me " } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "look." } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "text", text: "", citations: null } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "I look — 北京🌍." } },
    { type: "content_block_stop", index: 1 },
    {
      type: "content_block_start",
      index: 2,
      content_block: { type: "tool_use", id: "call_1", name: "read", input: {} },
    },
    { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"path":' } },
    { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '"a.ts"}' } },
    { type: "content_block_stop", index: 2 },
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 15, output_tokens: 7 },
    },
    { type: "message_stop" },
  ]);
});

test("an event goes out with the read that ends it", () => {
  const stream = new ChatStream(new MessagesSpeaker(ASK));
  const push = (text: string): string => stream.push(new TextEncoder().encode(text));
  const first = chunk({ content: "a" });
  expect(push(first.slice(0, -1))).toBe("");
  expect(push(first.slice(-1))).toContain('"text_delta","text":"a"');
});

test("the same bytes whatever reads the engine's come in", () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), (cuts) => {
      expect(said(THINKS_AND_CALLS, { cuts })).toBe(said(THINKS_AND_CALLS));
    }),
  );
});

test("thoughts that nobody asked for are not shown, and take no number", () => {
  const shown = events(THINKS_AND_CALLS, { ask: { ...ASK, wantsThinking: false } });
  expect(shown.some((event) => JSON.stringify(event).includes("thinking"))).toBe(false);
  expect(shown.flatMap((event) => (event["type"] === "content_block_start" ? [event["index"]] : []))).toEqual([0, 1]);
});

describe("stop reasons", () => {
  test.each<[string, Readonly<Record<string, unknown>>, string, string | null]>([
    ["the end", { finish_reason: "stop" }, "end_turn", null],
    ["the limit", { finish_reason: "length" }, "max_tokens", null],
    ["a call", { finish_reason: "tool_calls" }, "tool_use", null],
    ["a filter", { finish_reason: "content_filter" }, "refusal", null],
    ["a stop sequence, as vLLM tells it", { finish_reason: "stop", stop_reason: "END" }, "stop_sequence", "END"],
    ["a stop sequence, as SGLang tells it", { finish_reason: "stop", matched_stop: "END" }, "stop_sequence", "END"],
    ["a stop token", { finish_reason: "stop", stop_reason: 128_009 }, "end_turn", null],
    ["a stop text of the template's own", { finish_reason: "stop", stop_reason: "<|im_end|>" }, "end_turn", null],
  ])("%s", (_name, more, reason, sequence) => {
    const end = events(chunk({ content: "x" }) + chunk({}, more) + DONE).at(-2);
    expect(end).toMatchObject({ delta: { stop_reason: reason, stop_sequence: sequence } });
  });
});

describe("streams that do not end well end with an error event, and never with message_stop", () => {
  test.each([
    ["cut off", chunk({ content: "a" }), "ended before its answer did"],
    ["nothing at all", "", "ended before its answer did"],
    ["nothing but the end", DONE, "holds no answer"],
    ["no JSON", `${chunk({ content: "a" })}data: {oops\n\n`, "none of chat"],
    ["JSON of something else", `${chunk({ content: "a" })}data: {"x":1}\n\n`, "none of chat"],
    [
      "B81 an error inside the stream",
      `${chunk({ content: "a" })}data: {"error":{"message":"TimeoutError","type":"GatewayTimeout","code":504}}\n\n${DONE}`,
      "TimeoutError",
    ],
  ])("%s", (_name, text, message) => {
    const all = events(text);
    expect(all.at(-1)).toMatchObject({
      type: "error",
      error: { message: expect.stringContaining(message) as string },
      request_id: "req_1",
    });
    expect(types(text)).not.toContain("message_stop");
  });

  test("the engine's status becomes the error's type", () => {
    const text = `data: {"error":{"message":"x","type":"GatewayTimeout","code":504}}\n\n`;
    expect(events(text)).toMatchObject([{ type: "error", error: { type: "timeout_error" } }]);
  });
});

test("nothing follows the end", () => {
  const stream = new ChatStream(new MessagesSpeaker(ASK));
  const whole = chunk({ content: "a" }) + chunk({}, { finish_reason: "stop" }) + DONE;
  expect(stream.push(new TextEncoder().encode(whole))).toContain("message_stop");
  expect(stream.push(new TextEncoder().encode(chunk({ content: "b" }))) + stream.finish() + stream.fail("x", 502)).toBe(
    "",
  );
});

describe("an answer that is no stream", () => {
  const answer = (message: unknown, finish = "stop"): unknown => {
    const whole = readWholeAnswer(
      JSON.stringify({
        id: "chatcmpl-9",
        created: 5,
        model: "m",
        choices: [{ index: 0, message, finish_reason: finish }],
        usage,
      }),
    );
    if (whole === undefined) throw new Error("no answer");
    return messageOf(whole, ASK);
  };

  test("thoughts, text and a call, whose id stays: some templates read it again", () => {
    const message = {
      role: "assistant",
      reasoning_content: "hm",
      content: "so",
      tool_calls: [{ id: "call:1", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
    };
    expect(answer(message, "tool_calls")).toEqual({
      id: "msg_9",
      type: "message",
      role: "assistant",
      model: "m",
      content: [
        { type: "thinking", thinking: "hm", signature: "" },
        { type: "text", text: "so", citations: null },
        { type: "tool_use", id: "call:1", name: "f", input: { a: 1 } },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 15, output_tokens: 7 },
    });
  });

  test.each([
    ["none", "", {}],
    ["cut by the limit", '{"a":', { raw_arguments: '{"a":' }],
    ["no object", "[1]", { raw_arguments: "[1]" }],
  ])("arguments: %s", (_name, args, input) => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: args } };
    expect(answer({ content: null, tool_calls: [call] }, "length")).toMatchObject({ content: [{ input }] });
  });

  test("a call that ended with stop is a call all the same", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
    expect(answer({ content: "", tool_calls: [call] })).toMatchObject({ stop_reason: "tool_use" });
  });

  test.each(["", "null", "[]", '{"error":{"message":"x"}}', "{oops"])("%j is none", (body) => {
    expect(readWholeAnswer(body)).toBeUndefined();
  });
});
