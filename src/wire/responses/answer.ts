import type { AnswerEnd, AnswerStart, WholeAnswer } from "../chat/speaker.ts";
import type { ChatUsage } from "../chat/usage.ts";
import { type Fields, fieldsOf } from "../json-value.ts";
import { itemId, outputItem, type ToolNames } from "./items.ts";

/** What of a Responses request its answer depends on. */
export interface ResponsesAsk {
  readonly request: Fields;
  readonly tools: ToolNames;
}

const responseId = (id: string): string => `resp_${id.replace(/^chatcmpl-/, "")}`;

/** The answer to a Responses request that is no stream. */
export function responseOf({ start, blocks, end }: WholeAnswer, ask: ResponsesAsk): Fields {
  const output = blocks.map(({ block, index, text, logprobs }) => {
    const id = itemId(block, { answerId: start.id, index }, ask.tools);
    return outputItem(block, id, { said: { text, logprobs }, tools: ask.tools });
  });
  return { ...beganResponse(start, ask), ...endedResponse(end), output };
}

/** What clients find again of what they asked for, and what it is when they did not. */
const ECHOED: Fields = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  prompt_cache_key: null,
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: null,
  user: null,
};

/** A response of which nothing has been said yet. */
export function beganResponse({ id, model, created }: AnswerStart, { request }: ResponsesAsk): Fields {
  const { effort = null, summary = null } = fieldsOf(request["reasoning"]);
  return {
    id: responseId(id),
    object: "response",
    created_at: created,
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null,
    max_tool_calls: null,
    model,
    output: [],
    previous_response_id: null,
    reasoning: { effort, summary },
    service_tier: "default",
    store: false,
    truncation: "disabled",
    usage: null,
    ...Object.fromEntries(Object.entries(ECHOED).map(([name, unset]) => [name, request[name] ?? unset])),
  };
}

const INCOMPLETE: Readonly<Record<string, string>> = { length: "max_output_tokens", content_filter: "content_filter" };

/** How a response ended. */
export function endedResponse({ finish, usage }: AnswerEnd): Fields {
  const reason = INCOMPLETE[finish];
  if (reason === undefined) return { status: "completed", usage: usageOf(usage) };
  return { status: "incomplete", incomplete_details: { reason }, usage: usageOf(usage) };
}

const usageOf = ({ prompt, cached, completion, reasoning }: ChatUsage): Fields => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: prompt + completion,
});
