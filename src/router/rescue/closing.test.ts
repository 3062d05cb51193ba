import { describe, expect, test } from "vitest";
import { jsonBody } from "../translate/ask.ts";
import { closingAtLength, closingOf } from "./closing.ts";

const DONE = "data: [DONE]\n\n";
const COUNTED = { stream_options: { include_usage: true } };
const COUNTS = { prompt: 5, cached: 1, completion: 2, estimated: true };

const ask = (body: object) => ({ target: "/v1/chat/completions", body: jsonBody(body), rewrite: () => undefined });
const ended = (...indexes: readonly number[]): string =>
  `data: ${JSON.stringify({ id: "x", choices: indexes.map((index) => ({ index, finish_reason: "stop" })), timings: {} })}\n\n`;
const said = 'data: {"id":"x","choices":[{"index":0,"delta":{"content":"\\"finish_reason\\":\\"stop\\""}}]}\n\n';
const usage =
  '"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":1},"estimated":true}';

describe("after the end of the answer is lacking", () => {
  test.each<{ name: string; asked: object; tail: string; want: string | undefined }>([
    { name: "[DONE]", asked: {}, tail: said + ended(0), want: DONE },
    {
      name: "counts that were asked for, of the same answer",
      asked: COUNTED,
      tail: ended(0),
      want: `data: {"id":"x","choices":[],${usage}}\n\n${DONE}`,
    },
    { name: "no counts that came", asked: COUNTED, tail: `${ended(0)}data: {"choices":[],"usage":{}}\n\n`, want: DONE },
    { name: "nothing that is known, while it goes on", asked: {}, tail: said, want: undefined },
    { name: "nothing that is known, of no events", asked: {}, tail: "", want: undefined },
    { name: "more, of two answers", asked: { n: 2 }, tail: ended(1) + ended(1), want: undefined },
    { name: "[DONE], of two answers", asked: { n: 2 }, tail: ended(1) + ended(0), want: DONE },
    { name: "more, of two prompts", asked: { prompt: ["a", "b"] }, tail: ended(0), want: undefined },
    {
      name: "more, of two answers to each of two",
      asked: { prompt: ["a", "b"], n: 2 },
      tail: ended(0, 1, 2),
      want: undefined,
    },
    { name: "[DONE], of a prompt of tokens", asked: { prompt: [1, 2, 3] }, tail: ended(0), want: DONE },
    { name: "[DONE], where the first event is cut", asked: {}, tail: said.slice(9) + ended(0), want: DONE },
    {
      name: "the last event of Messages",
      asked: {},
      tail: 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
      want: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    },
    {
      name: "more of Messages without a reason",
      asked: {},
      tail: 'data: {"type":"message_delta","delta":{}}\n\n',
      want: undefined,
    },
  ])("$name", ({ asked, tail, want }) => {
    expect(closingOf(ask(asked), Buffer.from(tail), () => COUNTS)?.toString()).toBe(want);
  });
});

test("who asked for no counts is not counted for", () => {
  const counts = (): never => {
    throw new Error("counted");
  };
  expect(closingOf(ask({}), Buffer.from(ended(0)), counts)?.toString()).toBe(DONE);
});

test.each([
  [{ messages: [] }, `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`],
  [{ prompt: "x" }, `{"object":"text_completion","choices":[{"index":0,"text":"","finish_reason":"length"}]}`],
])("with the last token: %j", (asked, want) => {
  const { object } = JSON.parse(want) as { readonly object: string };
  expect(closingAtLength(ask(asked), COUNTS).toString()).toBe(`data: ${want}\n\n${DONE}`);
  const counted = `data: {"object":"${object}","choices":[],${usage}}\n\n`;
  expect(closingAtLength(ask({ ...asked, ...COUNTED }), COUNTS).toString()).toBe(`data: ${want}\n\n${counted}${DONE}`);
});
