import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CODING_AGENT } from "../../../test/fixtures/wire/coding-agent-responses.ts";
import type { Fields } from "../json-value.ts";
import { chatFromResponses } from "./request.ts";

const PLAIN = { templateSettings: false, continuesWhenAsked: false };

function chat(body: Fields): Fields {
  const result = chatFromResponses({ model: "m", input: "hi", ...body }, PLAIN);
  if (!result.ok) throw new Error(result.error.message);
  return result.value.body;
}

test("the least there is", () => {
  expect(chat({})).toEqual({ model: "m", messages: [{ role: "user", content: "hi" }] });
});

describe("fields", () => {
  const schema = { type: "object" };
  test.each<[string, Fields, Fields]>([
    ["sampling goes on as it is", { temperature: 0.5, top_p: 0.9 }, { temperature: 0.5, top_p: 0.9 }],
    ["so does what nobody here knows", { min_p: 0.1, user: "u" }, { min_p: 0.1, user: "u" }],
    ["the limit", { max_output_tokens: 5 }, { max_tokens: 5 }],
    ["a stream counts its tokens", { stream: true }, { stream: true, stream_options: { include_usage: true } }],
    [
      "a schema for the answer",
      { text: { format: { type: "json_schema", name: "n", schema, strict: true } } },
      { response_format: { type: "json_schema", json_schema: { name: "n", schema, strict: true } } },
    ],
    ["JSON", { text: { format: { type: "json_object" } } }, { response_format: { type: "json_object" } }],
    ["text", { text: { format: { type: "text" } } }, {}],
    ["effort", { reasoning: { effort: "xhigh" } }, { reasoning_effort: "high" }],
    ["no effort", { reasoning: { effort: "none" } }, {}],
    ["logprobs", { top_logprobs: 2 }, { logprobs: true, top_logprobs: 2 }],
    ["logprobs of what is said", { include: ["message.output_text.logprobs"] }, { logprobs: true }],
    [
      "what only OpenAI has is left out",
      {
        store: true,
        metadata: { a: "b" },
        truncation: "auto",
        include: [],
        prompt_cache_key: "k",
        previous_response_id: null,
      },
      {},
    ],
    ["choices without tools are none", { tool_choice: "auto", parallel_tool_calls: true }, {}],
  ])("%s", (_name, body, want) => {
    expect(chat(body)).toEqual({ ...chat({}), ...want });
  });
});

describe("input", () => {
  test.each<{ name: string; body: Fields; want: readonly unknown[] }>([
    {
      name: "messages without a type",
      body: {
        input: [
          { role: "user", content: "a" },
          { role: "assistant", content: "b" },
        ],
      },
      want: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ],
    },
    {
      name: "pictures, sound and files of text",
      body: {
        input: [
          {
            role: "user",
            content: [
              { type: "input_image", image_url: "data:x" },
              { type: "input_audio", input_audio: { data: "a", format: "wav" } },
              { type: "input_file", filename: "n.txt", file_data: "data:text/plain;base64,aGk=" },
            ],
          },
        ],
      },
      want: [
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "data:x" } },
            { type: "input_audio", input_audio: { data: "a", format: "wav" } },
            { type: "text", text: "n.txt\n\nhi" },
          ],
        },
      ],
    },
    {
      name: "a picture that a tool gave goes with the user's voice",
      body: {
        input: [
          { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
          { type: "function_call_output", call_id: "a", output: [{ type: "input_image", image_url: "u" }] },
        ],
      },
      want: [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "a", content: "" },
        { role: "user", content: [{ type: "image_url", image_url: { url: "u" } }] },
      ],
    },
    {
      name: "thoughts that only their summary tells, and what servers ran",
      body: {
        input: [
          { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "x" },
          { type: "web_search_call", id: "w", status: "completed" },
          { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
          { role: "user", content: "why" },
        ],
      },
      want: [
        { role: "assistant", content: "no", reasoning_content: "hm" },
        { role: "user", content: "why" },
      ],
    },
  ])("$name", ({ body, want }) => {
    expect(chat(body)["messages"]).toEqual(want);
  });
});

describe("tools", () => {
  const tools = [
    { type: "function", name: "f" },
    { type: "function", name: "g" },
  ];
  const offered = (body: Fields): unknown => {
    const { tools: list = [], tool_choice: choice } = chat({ tools, ...body });
    return { names: (list as readonly { function: { name: string } }[]).map((tool) => tool.function.name), choice };
  };

  test.each<[string, unknown, unknown]>([
    ["required", "required", { names: ["f", "g"], choice: "required" }],
    [
      "one",
      { type: "function", name: "g" },
      { names: ["f", "g"], choice: { type: "function", function: { name: "g" } } },
    ],
    [
      "some of them",
      { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "g" }] },
      { names: ["g"], choice: "required" },
    ],
  ])("%s", (_name, choice, want) => {
    expect(offered({ tool_choice: choice })).toEqual(want);
  });
});

describe("what cannot be said is refused, with its place", () => {
  test.each<[string, Fields, string, string]>([
    [
      "an earlier answer",
      { previous_response_id: "resp_1" },
      "previous_response_id: ",
      "PREVIOUS_RESPONSE_NOT_SUPPORTED",
    ],
    ["a kept conversation", { conversation: "c" }, "conversation: ", "PREVIOUS_RESPONSE_NOT_SUPPORTED"],
    ["an answer in the background", { background: true }, "background: ", "PREVIOUS_RESPONSE_NOT_SUPPORTED"],
    ["a kept prompt", { prompt: { id: "p" } }, "prompt: ", "BAD_REQUEST"],
    ["a kept item", { input: [{ type: "item_reference", id: "i" }] }, "input[0]: ", "BAD_REQUEST"],
    ["no input", { input: undefined }, "input: ", "BAD_REQUEST"],
    ["an empty one", { input: [] }, "input: at least", "BAD_REQUEST"],
    ["a strange item", { input: [{ type: "hologram" }] }, 'input[0]: an item of type "hologram"', "BAD_REQUEST"],
    ["a strange role", { input: [{ role: "x", content: "y" }] }, "input[0].role: ", "BAD_REQUEST"],
    ["no content", { input: [{ role: "user" }] }, "input[0].content: ", "BAD_REQUEST"],
    [
      "a kept file",
      { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] },
      "input[0].content[0]: ",
      "BAD_REQUEST",
    ],
    [
      "a PDF",
      { input: [{ role: "user", content: [{ type: "input_file", file_data: "data:application/pdf;base64,aa" }] }] },
      "input[0].content[0]: ",
      "BAD_REQUEST",
    ],
    ["a search alone", { tools: [{ type: "web_search" }] }, "tools[0].type: ", "BAD_REQUEST"],
    [
      "a search that must be",
      { tools: [{ type: "web_search" }, { type: "function", name: "f" }], tool_choice: { type: "web_search" } },
      'tool_choice: there is no tool "web_search"',
      "BAD_REQUEST",
    ],
  ])("%s", (_name, body, message, code) => {
    const result = chatFromResponses({ model: "m", input: "hi", ...body }, PLAIN);
    expect(result).toMatchObject({ ok: false, error: { code, message: expect.stringContaining(message) as string } });
  });
});

test("a coding agent's turns, as it sends them", () => {
  for (const { request, chat: want } of CODING_AGENT) {
    const result = chatFromResponses(request, PLAIN);
    expect(result.ok ? result.value.body : result.error).toEqual(want);
  }
});

test("nothing that a client sends makes it throw", () => {
  const anything = fc.jsonValue({ maxDepth: 5 }) as fc.Arbitrary<unknown>;
  const key = fc.constantFrom(
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "include",
    "stream",
  );
  fc.assert(
    fc.property(fc.dictionary(key, anything), (body) => {
      expect(chatFromResponses(body, PLAIN)).toHaveProperty("ok");
    }),
  );
  const type = fc.constantFrom(
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "x",
  );
  fc.assert(
    fc.property(
      fc.array(fc.record({ type, role: fc.constant("user"), content: anything, output: anything })),
      (input) => {
        expect(chatFromResponses({ input }, PLAIN)).toHaveProperty("ok");
      },
    ),
  );
});
