import { describe, expect, test } from "vitest";
import type { EngineApi } from "../../core/engine-api.ts";
import { jsonBody } from "../translate/ask.ts";
import { ChatReader } from "./chat-reader.ts";
import { goingOn } from "./going-on.ts";
import { Said } from "./said.ts";

const ALWAYS: readonly EngineApi[] = ["chat", "continues-last-message"];
const ASKED: readonly EngineApi[] = ["chat", "continues-when-asked"];
const USER = { role: "user", content: "hi" };
const CHAT = { messages: [USER] };

function said(...texts: readonly string[]): Said {
  const all = new Said(new ChatReader());
  for (const content of texts) {
    all.push(Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`));
  }
  return all;
}

function next(asked: object, texts: readonly string[], apis = ALWAYS) {
  const result = goingOn(jsonBody(asked), said(...texts), apis);
  if (!result.ok) return result.error;
  const { body, again, tokens } = result.value;
  const rest = body === undefined ? "{}" : Buffer.concat(body.chunks).toString();
  return { ...(JSON.parse(rest) as object), again, tokens, isWhole: body === undefined };
}

describe("asks for the rest", () => {
  test.each<{ name: string; asked: object; texts: readonly string[]; apis?: readonly EngineApi[]; want: object }>([
    {
      name: "of a chat",
      asked: { ...CHAT, max_tokens: 5, max_completion_tokens: 6, min_tokens: 3 },
      texts: ["A", " b"],
      want: {
        messages: [USER, { role: "assistant", content: "A b" }],
        max_tokens: 3,
        max_completion_tokens: 4,
        min_tokens: 1,
        tokens: 2,
      },
    },
    {
      name: "where it must be asked for",
      asked: CHAT,
      texts: ["A"],
      apis: ASKED,
      want: {
        messages: [USER, { role: "assistant", content: "A" }],
        continue_final_message: true,
        add_generation_prompt: false,
      },
    },
    {
      name: "of an answer that the client began",
      asked: { messages: [USER, { role: "assistant", content: "Once" }] },
      texts: [" upon"],
      want: { messages: [USER, { role: "assistant", content: "Once upon" }] },
    },
    {
      name: "and answers where the client's own last word is not gone on with",
      asked: { messages: [USER, { role: "assistant", content: "Once" }] },
      texts: ["Yes"],
      apis: ASKED,
      want: { messages: [USER, { role: "assistant", content: "Once" }, { role: "assistant", content: "Yes" }] },
    },
    { name: "of a completion", asked: { prompt: "One" }, texts: [" two"], want: { prompt: "One two" } },
    { name: "of the only prompt of a list", asked: { prompt: ["One"] }, texts: [" two"], want: { prompt: "One two" } },
    {
      name: "without the white space at the end, which templates cut off",
      asked: { ...CHAT, max_tokens: 9 },
      texts: ["A", " b ", "\n\n"],
      want: { messages: [USER, { content: "A b" }], again: " \n\n", tokens: 2, max_tokens: 7 },
    },
    {
      name: "from the beginning where only white space came",
      asked: CHAT,
      texts: ["\n"],
      want: { messages: [USER], again: "\n" },
    },
    {
      name: "of nobody when all tokens were said",
      asked: { ...CHAT, max_tokens: 3 },
      texts: ["A", "b", "\n"],
      want: { isWhole: true },
    },
    { name: "greedy with a seed", asked: { ...CHAT, seed: 1, temperature: 0 }, texts: ["A"], want: { tokens: 1 } },
    { name: "with a seed that asks for any", asked: { ...CHAT, seed: -1 }, texts: ["A"], want: { tokens: 1 } },
    {
      name: "with tools, before any is called",
      asked: { ...CHAT, tools: [{}], tool_choice: "auto" },
      texts: ["A"],
      want: { tokens: 1 },
    },
    { name: "of plain text", asked: { ...CHAT, response_format: { type: "text" } }, texts: ["A"], want: { tokens: 1 } },
    { name: "with a stop that is far", asked: { ...CHAT, stop: ["\n\n", "END"] }, texts: ["A"], want: { tokens: 1 } },
  ])("$name", ({ asked, texts, apis, want }) => {
    expect(next(asked, texts, apis)).toMatchObject(want);
  });
});

describe("refuses", () => {
  test.each<{ name: string; asked: object; texts?: readonly string[]; apis?: readonly EngineApi[]; why: string }>([
    { name: "several choices", asked: { ...CHAT, n: 2 }, why: "several answers" },
    { name: "the best of several", asked: { prompt: "x", best_of: 2 }, why: "several answers" },
    { name: "a seed", asked: { ...CHAT, seed: 1 }, why: "seed" },
    { name: "probabilities of a chat", asked: { ...CHAT, logprobs: true }, why: "probabilities" },
    { name: "probabilities of a completion", asked: { prompt: "x", logprobs: 0 }, why: "probabilities" },
    { name: "an echo", asked: { prompt: "x", echo: true }, why: "asked for again" },
    { name: "a gap to fill", asked: { prompt: "x", suffix: "y" }, why: "comes after" },
    { name: "a grammar", asked: { ...CHAT, grammar: "root ::= x" }, why: "form" },
    { name: "a form of vLLM", asked: { ...CHAT, structured_outputs: { regex: "x" } }, why: "form" },
    { name: "a schema", asked: { ...CHAT, response_format: { type: "json_schema" } }, why: "form" },
    { name: "a named tool", asked: { ...CHAT, tool_choice: { type: "function" } }, why: "a call of a tool" },
    { name: "half a stop sequence", asked: { ...CHAT, stop: "END" }, texts: ["the E"], why: "stop sequence" },
    { name: "half a stop of white space", asked: { ...CHAT, stop: ["\n\n"] }, texts: ["a\n"], why: "stop sequence" },
    { name: "half a character", asked: CHAT, texts: ["a\ud83c"], why: "half a character" },
    { name: "tokens instead of text", asked: { prompt: [1, 2] }, why: "not one text" },
    { name: "several prompts", asked: { prompt: ["a", "b"] }, why: "not one text" },
    { name: "an engine that cannot", asked: CHAT, apis: ["chat"], why: "cannot go on" },
    {
      name: "a beginning in parts",
      asked: { messages: [{ role: "assistant", content: [{ type: "text", text: "x" }] }] },
      why: "beginning",
    },
  ])("$name", ({ asked, texts = ["A"], apis, why }) => {
    expect(next(asked, texts, apis)).toContain(why);
  });
});

test.each([
  ["each event is a token where the engine counts none", said("a", "b", " "), 2, false],
  ["a token without text is none", said("a", "", "b"), 2, false],
])("%s", (_name, all, tokens, isCounted) => {
  expect([all.tokens, all.isCounted]).toEqual([tokens, isCounted]);
});

test("the engine's running counts count", () => {
  const all = new Said(new ChatReader());
  const chunk = (content: string, usage: number): string =>
    `data: ${JSON.stringify({ choices: [{ delta: { content } }], usage: { completion_tokens: usage } })}\n\n`;
  all.push(Buffer.from(chunk("Hello there", 3) + chunk(" ", 4)));
  expect([all.tokens, all.isCounted]).toEqual([3, true]);
});
