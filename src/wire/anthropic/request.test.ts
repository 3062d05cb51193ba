import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Fields } from "../json-value.ts";
import { readWholeAnswer } from "../chat/whole.ts";
import { messageOf } from "./answer.ts";
import { CODING_AGENT } from "../../../test/fixtures/wire/coding-agent-messages.ts";
import { chatFromMessages } from "./request.ts";

const PLAIN = { templateSettings: false, continuesWhenAsked: false };
const user = (content: unknown): Fields => ({ role: "user", content });

function chat(body: Fields, dialect = PLAIN): Fields {
  const result = chatFromMessages({ model: "m", max_tokens: 9, messages: [user("hi")], ...body }, dialect);
  if (!result.ok) throw new Error(result.error.message);
  return result.value.body;
}

function objection(body: Fields): string {
  const result = chatFromMessages({ model: "m", max_tokens: 9, messages: [user("hi")], ...body }, PLAIN);
  return result.ok ? "none" : result.error.message;
}

test("the least there is", () => {
  expect(chat({})).toEqual({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] });
});

describe("fields", () => {
  test.each<[string, Fields, Fields]>([
    [
      "sampling goes on as it is",
      { temperature: 0.5, top_p: 0.9, top_k: 5 },
      { temperature: 0.5, top_p: 0.9, top_k: 5 },
    ],
    ["so does what nobody here knows", { min_p: 0.1 }, { min_p: 0.1 }],
    ["a stream counts its tokens", { stream: true }, { stream: true, stream_options: { include_usage: true } }],
    ["stop sequences", { stop_sequences: ["a"] }, { stop: ["a"] }],
    ["the user", { metadata: { user_id: "u" } }, { user: "u" }],
    [
      "a schema for the answer",
      { output_config: { format: { type: "json_schema", schema: { type: "object" } }, effort: "high" } },
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "answer", schema: { type: "object" }, strict: true },
        },
      },
    ],
    [
      "what only Anthropic has is left out",
      {
        cache_control: { type: "ephemeral" },
        service_tier: "auto",
        context_management: {},
        thinking: { type: "adaptive" },
      },
      {},
    ],
  ])("%s", (_name, body, want) => {
    expect(chat(body)).toEqual({ ...chat({}), ...want });
  });

  test.each<[string, unknown]>([
    ["enabled", { enable_thinking: true }],
    ["disabled", { enable_thinking: false }],
    ["adaptive", undefined],
  ])("thinking %s, where the engine's template can be told", (type, want) => {
    const body = chat({ thinking: { type, budget_tokens: 1024 } }, { ...PLAIN, templateSettings: true });
    expect(body["chat_template_kwargs"]).toEqual(want);
  });

  test("a begun answer is gone on with where the engine must be asked to", () => {
    const messages = [user("hi"), { role: "assistant", content: "Well" }];
    const asked = chat({ messages }, { ...PLAIN, continuesWhenAsked: true });
    expect(asked).toMatchObject({ continue_final_message: true, add_generation_prompt: false });
    expect(chat({ messages })).not.toHaveProperty("continue_final_message");
  });
});

describe("messages", () => {
  test.each<{ name: string; body: Fields; want: readonly unknown[] }>([
    {
      name: "a system prompt of several blocks, in their order",
      body: {
        system: [
          { type: "text", text: "One." },
          { type: "text", text: "Two.", cache_control: { type: "ephemeral" } },
        ],
      },
      want: [
        { role: "system", content: "One.\n\nTwo." },
        { role: "user", content: "hi" },
      ],
    },
    {
      name: "blocks with pictures",
      body: {
        messages: [
          user([
            { type: "text", text: "what" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "aa" } },
            { type: "image", source: { type: "url", url: "https://x/y.png" } },
          ]),
        ],
      },
      want: [
        {
          role: "user",
          content: [
            { type: "text", text: "what" },
            { type: "image_url", image_url: { url: "data:image/png;base64,aa" } },
            { type: "image_url", image_url: { url: "https://x/y.png" } },
          ],
        },
      ],
    },
    {
      name: "results come before what else the turn says; their pictures with it",
      body: {
        messages: [
          user([
            {
              type: "tool_result",
              tool_use_id: "a",
              content: [
                { type: "text", text: "seen" },
                { type: "image", source: { type: "url", url: "u" } },
              ],
            },
            { type: "tool_result", tool_use_id: "b", is_error: true },
            { type: "text", text: "go on" },
          ]),
        ],
      },
      want: [
        { role: "tool", tool_call_id: "a", content: "seen" },
        { role: "tool", tool_call_id: "b", content: "The tool failed." },
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "u" } },
            { type: "text", text: "go on" },
          ],
        },
      ],
    },
    {
      name: "thoughts, calls, and what only Anthropic's servers can read",
      body: {
        messages: [
          user("hi"),
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "hm", signature: "s" },
              { type: "redacted_thinking", data: "x" },
              { type: "server_tool_use", id: "s", name: "web_search", input: {} },
              { type: "web_search_tool_result", tool_use_id: "s", content: [] },
              { type: "tool_use", id: "a", name: "f", input: { x: 1 } },
            ],
          },
        ],
      },
      want: [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: null,
          reasoning_content: "hm",
          tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: '{"x":1}' } }],
        },
      ],
    },
    {
      name: "documents that are text",
      body: {
        messages: [
          user([
            { type: "document", title: "T", source: { type: "text", media_type: "text/plain", data: "body" } },
            { type: "search_result", title: "S", source: "u", content: [{ type: "text", text: "found" }] },
          ]),
        ],
      },
      want: [
        {
          role: "user",
          content: [
            { type: "text", text: "T\n\nbody" },
            { type: "text", text: "S\n\nfound" },
          ],
        },
      ],
    },
  ])("$name", ({ body, want }) => {
    expect(chat(body)["messages"]).toEqual(want);
  });
});

describe("tools", () => {
  const tools = [
    { name: "f", description: "d", input_schema: { type: "object" }, cache_control: { type: "ephemeral" } },
  ];
  const chatTools = [{ type: "function", function: { name: "f", description: "d", parameters: { type: "object" } } }];

  test.each<[string, Fields, Fields]>([
    ["alone", {}, {}],
    ["auto", { tool_choice: { type: "auto" } }, { tool_choice: "auto" }],
    ["any", { tool_choice: { type: "any" } }, { tool_choice: "required" }],
    ["none", { tool_choice: { type: "none" } }, { tool_choice: "none" }],
    [
      "one",
      { tool_choice: { type: "tool", name: "f" } },
      { tool_choice: { type: "function", function: { name: "f" } } },
    ],
    [
      "one at a time",
      { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
      { tool_choice: "auto", parallel_tool_calls: false },
    ],
  ])("%s", (_name, body, want) => {
    const { tools: offered, tool_choice: choice, parallel_tool_calls: parallel } = chat({ tools, ...body });
    expect(offered).toEqual(chatTools);
    expect({ choice, parallel }).toEqual({ choice: want["tool_choice"], parallel: want["parallel_tool_calls"] });
  });

  test("those that Anthropic's servers run are left out where there are others", () => {
    const searching = { tools: [{ type: "web_search_20250305", name: "web_search" }, ...tools] };
    expect(chat(searching)["tools"]).toEqual(chatTools);
  });
});

describe("what cannot be said is refused, with its place", () => {
  test.each<[string, Fields, string]>([
    ["no messages", { messages: [] }, "messages: at least one"],
    ["messages that are none", { messages: "hi" }, "messages: at least one"],
    ["a message that is none", { messages: ["hi"] }, "messages.0: a message is an object"],
    ["a strange role", { messages: [{ role: "tool", content: "x" }] }, "messages.0.role: must be"],
    ["no content", { messages: [{ role: "user" }] }, "messages.0.content: a text or a list"],
    [
      "a PDF",
      { messages: [user([{ type: "document", source: { type: "base64" } }])] },
      "messages.0.content.0.source: ",
    ],
    ["a kept file", { messages: [user([{ type: "image", source: { type: "file" } }])] }, "files are not kept"],
    [
      "a strange block",
      { messages: [user([{ type: "hologram" }])] },
      'messages.0.content.0: a block of type "hologram"',
    ],
    ["a picture in the system prompt", { system: [{ type: "image" }] }, "system.0: only text blocks"],
    ["a system prompt that is none", { system: 5 }, "system: a text or a list"],
    ["a search alone", { tools: [{ type: "web_search_20250305", name: "w" }] }, "tools.0: "],
    ["a tool without a schema", { tools: [{ name: "f" }] }, "tools.0: input_schema: Field required"],
    [
      "a tool that is not there",
      { tools: [{ name: "f", input_schema: {} }], tool_choice: { type: "tool", name: "g" } },
      'tool_choice.name: there is no tool "g"',
    ],
    [
      "a strange choice",
      { tools: [{ name: "f", input_schema: {} }], tool_choice: { type: "x" } },
      "tool_choice.type: ",
    ],
  ])("%s", (_name, body, want) => {
    expect(objection(body)).toContain(want);
  });
});

test("a coding agent's turns, as it sends them", () => {
  for (const { request, chat: want } of CODING_AGENT) {
    const result = chatFromMessages(request, PLAIN);
    expect(result.ok ? result.value.body : result.error).toEqual(want);
  }
});

test("an answer that is sent back is the message that the engine gave", () => {
  const call = fc.record({
    id: fc.stringMatching(/^[\w-]{1,20}$/),
    name: fc.stringMatching(/^\w{1,20}$/),
    input: fc.dictionary(fc.string(), fc.jsonValue()),
  });
  const text = fc.string({ unit: "binary", minLength: 1 });
  fc.assert(
    fc.property(text, text, fc.array(call, { maxLength: 3 }), (thought, content, calls) => {
      const message = {
        role: "assistant",
        content,
        reasoning_content: thought,
        ...(calls.length === 0
          ? {}
          : {
              tool_calls: calls.map(({ id, name, input }) => ({
                id,
                type: "function",
                function: { name, arguments: JSON.stringify(input) },
              })),
            }),
      };
      const whole = readWholeAnswer(
        JSON.stringify({ id: "1", choices: [{ index: 0, message, finish_reason: "stop" }] }),
      );
      if (whole === undefined) throw new Error("no answer");
      const answer = messageOf(whole, { wantsThinking: true, stopSequences: [], requestId: "" });
      const back = chat({ messages: [user("hi"), { role: "assistant", content: answer["content"] }] });
      expect((back["messages"] as readonly unknown[])[1]).toEqual(JSON.parse(JSON.stringify(message)));
    }),
  );
});

test("nothing that a client sends makes it throw", () => {
  const anything = fc.jsonValue({ maxDepth: 5 }) as fc.Arbitrary<unknown>;
  const key = fc.constantFrom(
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "stop_sequences",
  );
  fc.assert(
    fc.property(fc.dictionary(key, anything), (body) => {
      expect(chatFromMessages(body, PLAIN)).toHaveProperty("ok");
    }),
  );
  fc.assert(
    fc.property(fc.array(anything), (blocks) => {
      for (const role of ["user", "assistant", "system"])
        expect(chatFromMessages({ messages: [{ role, content: blocks }] }, PLAIN)).toHaveProperty("ok");
    }),
  );
});
