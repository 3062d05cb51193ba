import { describe, expect, test } from "vitest";
import { asAnthropicError, asOpenaiError } from "./engine-error.ts";

const TOO_LONG = "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it";

const openai = (status: number, body: unknown): unknown => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const mended = asOpenaiError({ status, body: text });
  return mended === undefined ? undefined : (JSON.parse(mended) as { error: unknown }).error;
};

describe("as OpenAI's clients read it", () => {
  test.each<{ name: string; status: number; body: unknown; want: unknown }>([
    {
      name: "one that is so already stays as it is",
      status: 400,
      body: { error: { message: "no", type: "invalid_request_error", param: null, code: null } },
      want: undefined,
    },
    {
      name: "llama-server's, with a number for a code",
      status: 500,
      body: { error: { code: 500, message: "image input is not supported", type: "server_error" } },
      want: { message: "image input is not supported", type: "server_error", param: null, code: null },
    },
    {
      name: "llama-server's prompt that is too long, and what else it says of it",
      status: 400,
      body: { error: { code: 400, message: TOO_LONG, type: "exceed_context_size_error", n_ctx: 4096 } },
      want: {
        n_ctx: 4096,
        message: TOO_LONG,
        type: "invalid_request_error",
        param: null,
        code: "context_length_exceeded",
      },
    },
    {
      name: "vLLM's prompt that is too long",
      status: 400,
      body: {
        error: {
          message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
          type: "BadRequestError",
          param: null,
          code: 400,
        },
      },
      want: {
        message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        type: "invalid_request_error",
        param: null,
        code: "context_length_exceeded",
      },
    },
    {
      name: "an error object without the error around it",
      status: 404,
      body: {
        object: "error",
        message: "The model `x` does not exist.",
        type: "NotFoundError",
        param: null,
        code: 404,
      },
      want: { message: "The model `x` does not exist.", type: "invalid_request_error", param: null, code: null },
    },
    {
      name: "a text for an error",
      status: 401,
      body: { error: "Unauthorized" },
      want: { message: "Unauthorized", type: "invalid_request_error", param: null, code: null },
    },
    {
      name: "FastAPI's places and problems",
      status: 422,
      body: { detail: [{ loc: ["body", "messages", 0], msg: "Field required", type: "missing" }] },
      want: { message: "body.messages.0: Field required", type: "invalid_request_error", param: null, code: null },
    },
    {
      name: "a page",
      status: 502,
      body: "<html>Bad Gateway</html>",
      want: { message: "The engine answered with 502.", type: "server_error", param: null, code: null },
    },
    {
      name: "words",
      status: 429,
      body: "Slow down.",
      want: { message: "Slow down.", type: "rate_limit_error", param: null, code: null },
    },
    { name: "nothing", status: 429, body: "", want: undefined },
    { name: "JSON that reports nothing", status: 503, body: {}, want: undefined },
  ])("$name", ({ status, body, want }) => {
    expect(openai(status, body)).toEqual(want);
  });
});

describe("a prompt that is too long is told in the words that clients look for", () => {
  test.each([
    [TOO_LONG],
    ["This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens."],
    ["The input (9000 tokens) is longer than the model's context length (8192 tokens)."],
    ["Requested token count exceeds the model's maximum context length of 8192 tokens."],
    ["The decoder prompt (length 9000) is longer than the maximum model length of 8192."],
  ])("%s", (message) => {
    const body = JSON.stringify({ error: { message, type: "BadRequestError", code: 400 } });
    expect(openai(400, body)).toMatchObject({ code: "context_length_exceeded", type: "invalid_request_error" });
    expect(asAnthropicError({ status: 400, body }, "r")).toContain("prompt is too long");
  });

  test("with its numbers, where the engine tells them", () => {
    const error = {
      code: 400,
      message: TOO_LONG,
      type: "exceed_context_size_error",
      n_prompt_tokens: 6031,
      n_ctx: 4096,
    };
    const told = asAnthropicError({ status: 400, body: JSON.stringify({ error }) }, "r");
    expect(told).toContain('"prompt is too long: 6031 tokens > 4096 maximum"');
  });
});

describe("as Anthropic's clients read it", () => {
  test("one in Anthropic's own shape keeps its words", () => {
    const body = JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
    expect(asAnthropicError({ status: 529, body }, "r")).toBeUndefined();
  });

  test.each([
    [400, "invalid_request_error"],
    [401, "authentication_error"],
    [403, "permission_error"],
    [404, "not_found_error"],
    [413, "request_too_large"],
    [422, "invalid_request_error"],
    [429, "rate_limit_error"],
    [500, "api_error"],
    [503, "overloaded_error"],
    [504, "timeout_error"],
  ])("%d is %s", (status, type) => {
    const body = JSON.stringify({ error: { code: status, message: "no", type: "server_error" } });
    expect(JSON.parse(asAnthropicError({ status, body }, "r") ?? "")).toEqual({
      type: "error",
      error: { type, message: "no" },
      request_id: "r",
    });
  });
});
