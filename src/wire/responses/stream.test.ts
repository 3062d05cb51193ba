import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../../test/fakes/cut.ts";
import { CODING_AGENT } from "../../../test/fixtures/wire/coding-agent-responses.ts";
import { ChatStream } from "../chat/stream.ts";
import { readWholeAnswer } from "../chat/whole.ts";
import type { Fields } from "../json-value.ts";
import { SseSplitter } from "../sse/splitter.ts";
import { responseOf, type ResponsesAsk } from "./answer.ts";
import { chatFromResponses } from "./request.ts";
import { ResponsesSpeaker } from "./stream.ts";

function askOf(request: Fields): ResponsesAsk {
  const result = chatFromResponses(request, { templateSettings: false, continuesWhenAsked: false });
  if (!result.ok) throw new Error(result.error.message);
  return result.value.ask;
}

const ASK = askOf(CODING_AGENT[0]?.request ?? {});

const chunk = (delta: unknown, more: Fields = {}): string =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", created: 5, model: "m", choices: [{ index: 0, delta, ...more }] })}\n\n`;
const call = (index: number, args: string, more: Fields = {}) => ({
  tool_calls: [
    {
      index,
      ...(more["id"] === undefined ? {} : { id: more["id"] }),
      function: { name: more["name"], arguments: args },
    },
  ],
});
const usage = {
  prompt_tokens: 20,
  completion_tokens: 7,
  prompt_tokens_details: { cached_tokens: 15 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const END = `data: ${JSON.stringify({ id: "chatcmpl-1", choices: [], usage })}\n\ndata: [DONE]\n\n`;

const EVERYTHING =
  chunk({ role: "assistant", reasoning: "hm" }) +
  chunk({ content: "I " }) +
  chunk({ content: "look 北京🌍" }) +
  chunk(call(0, '{"command"', { id: "call_1", name: "shell" })) +
  chunk(call(0, ':["ls"]}')) +
  chunk(call(1, '{"input":"*** Be', { id: "call_2", name: "apply_patch" })) +
  chunk(call(1, 'gin"}')) +
  chunk(call(2, "{}", { id: "call_3", name: "mcp__docs__find" })) +
  chunk({}, { finish_reason: "tool_calls" }) +
  END;

function said(text: string, cuts: readonly number[] = [], ask = ASK): string {
  const stream = new ChatStream(new ResponsesSpeaker(ask));
  const pieces = cut(Buffer.from(text), cuts).map((piece) => stream.push(piece));
  return pieces.join("") + stream.finish();
}

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

/** The events; each one's name is its type, and they are numbered. */
function events(text: string, ask = ASK): readonly Event[] {
  const splitter = new SseSplitter();
  const all = [...splitter.push(new TextEncoder().encode(said(text, [], ask))), ...splitter.finish()];
  return all.map(({ name, data }, index) => {
    const event = JSON.parse(data) as Event;
    expect([event.type, event["sequence_number"]]).toEqual([name, index]);
    return event;
  });
}

const MESSAGE = {
  id: "msg_1_1",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text: "I look 北京🌍", annotations: [], logprobs: [] }],
};
const OUTPUT = [
  {
    id: "rs_1_0",
    type: "reasoning",
    summary: [],
    content: [{ type: "reasoning_text", text: "hm" }],
    status: "completed",
  },
  MESSAGE,
  {
    id: "fc_1_2",
    type: "function_call",
    status: "completed",
    call_id: "call_1",
    name: "shell",
    arguments: '{"command":["ls"]}',
  },
  {
    id: "ctc_1_3",
    type: "custom_tool_call",
    status: "completed",
    call_id: "call_2",
    name: "apply_patch",
    input: "*** Begin",
  },
  {
    id: "fc_1_4",
    type: "function_call",
    status: "completed",
    call_id: "call_3",
    name: "find",
    namespace: "mcp__docs__",
    arguments: "{}",
  },
];
const USAGE = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 15, cache_write_tokens: 0 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 27,
};

test("thoughts, text, a function, a custom tool and one of a namespace, event by event", () => {
  const all = events(EVERYTHING);
  expect(all.map(({ type }) => type.replace("response.", ""))).toEqual([
    "created",
    "in_progress",
    ...["output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.done", "content_part.done"],
    "output_item.done",
    ...["output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done"],
    ...["content_part.done", "output_item.done"],
    ...["output_item.added", "function_call_arguments.delta", "function_call_arguments.delta"],
    ...["function_call_arguments.done", "output_item.done"],
    ...["output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done", "output_item.done"],
    ...["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"],
    "completed",
  ]);
  expect(all.flatMap((event) => (event.type === "response.output_item.done" ? [event["item"]] : []))).toEqual(OUTPUT);
  expect(all.at(-1)).toMatchObject({ response: { id: "resp_1", status: "completed", output: OUTPUT, usage: USAGE } });
});

test("deltas say which item they belong to, and where in it", () => {
  expect(events(EVERYTHING).find(({ type }) => type === "response.output_text.delta")).toEqual({
    type: "response.output_text.delta",
    sequence_number: 10,
    item_id: "msg_1_1",
    output_index: 1,
    content_index: 0,
    delta: "I ",
    logprobs: [],
  });
});

test("a response repeats what was asked for", () => {
  const [created] = events(EVERYTHING);
  expect(created).toMatchObject({
    response: {
      object: "response",
      created_at: 5,
      status: "in_progress",
      model: "m",
      instructions: "You are a coding agent.",
      reasoning: { effort: "medium", summary: "auto" },
      tool_choice: "auto",
      parallel_tool_calls: false,
      store: false,
      output: [],
      usage: null,
    },
  });
});

test("the same bytes whatever reads the engine's come in", () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), (cuts) => {
      expect(said(EVERYTHING, cuts)).toBe(said(EVERYTHING));
    }),
  );
});

describe("what the limit or a filter cut is incomplete", () => {
  test.each([
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ])("%s", (finish, reason) => {
    const last = events(chunk({ content: "a" }) + chunk({}, { finish_reason: finish }) + END).at(-1);
    expect(last).toMatchObject({
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason } },
    });
  });
});

test("what breaks has failed, and its last event is an error that all clients find", () => {
  const all = events(`${chunk({ content: "a" })}data: {"error":{"message":"no more","code":500}}\n\n`);
  expect(all.at(-2)).toMatchObject({
    type: "response.failed",
    response: { status: "failed", error: { code: "server_error", message: "no more" } },
  });
  expect(all.at(-1)).toMatchObject({ type: "error", message: "no more", code: "500", error: { message: "no more" } });
});

test("a failure before anything was said", () => {
  expect(events("").map(({ type }) => type)).toEqual(["response.failed", "error"]);
});

test("an answer that is no stream has the same items", () => {
  const message = {
    reasoning_content: "hm",
    content: "I look 北京🌍",
    tool_calls: [
      { id: "call_1", function: { name: "shell", arguments: '{"command":["ls"]}' } },
      { id: "call_2", function: { name: "apply_patch", arguments: '{"input":"*** Begin"}' } },
      { id: "call_3", function: { name: "mcp__docs__find", arguments: "{}" } },
    ],
  };
  const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
  const whole = readWholeAnswer(JSON.stringify({ id: "chatcmpl-1", created: 5, model: "m", choices, usage }));
  if (whole === undefined) throw new Error("no answer");
  expect(responseOf(whole, ASK)).toMatchObject({ id: "resp_1", status: "completed", output: OUTPUT, usage: USAGE });
});

test("output that is sent back is the message that the engine gave", () => {
  const request = CODING_AGENT[0]?.request ?? {};
  const back = chatFromResponses({ ...request, input: OUTPUT }, { templateSettings: false, continuesWhenAsked: false });
  expect(back.ok ? back.value.body["messages"] : back.error).toEqual([
    { role: "system", content: "You are a coding agent." },
    {
      role: "assistant",
      content: "I look 北京🌍",
      reasoning_content: "hm",
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "shell", arguments: '{"command":["ls"]}' } },
        { id: "call_2", type: "function", function: { name: "apply_patch", arguments: '{"input":"*** Begin"}' } },
        { id: "call_3", type: "function", function: { name: "mcp__docs__find", arguments: "{}" } },
      ],
    },
  ]);
});
