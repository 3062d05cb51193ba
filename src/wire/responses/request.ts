import { err, ok, type Result } from "../../core/result.ts";
import { type ChatAsk, type ChatDialect, continuation, streamFields } from "../chat/ask.ts";
import { type Fields, fieldsOf, isFields, listOf, textOf, without, withoutUnset } from "../json-value.ts";
import { type Objection, Objections } from "../objections.ts";
import type { ResponsesAsk } from "./answer.ts";
import { readInput } from "./input.ts";
import { readToolset } from "./toolset.ts";

export interface ResponsesRequest extends ChatAsk {
  readonly ask: ResponsesAsk;
}

/** Fields that chat has under another name or not at all. What is not in it goes on as it is: engines have more. */
const NOT_OF_CHAT: ReadonlySet<string> = new Set([
  ...["instructions", "input", "tools", "tool_choice", "parallel_tool_calls", "max_tool_calls"],
  ...["stream", "stream_options", "store", "background", "conversation", "previous_response_id", "prompt"],
  ...["max_output_tokens", "reasoning", "text", "include", "truncation", "top_logprobs", "context_management"],
  ...["metadata", "client_metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier"],
]);

/** A Responses request as chat asks it. What needs something to be remembered between requests is refused. */
export function chatFromResponses(body: Fields, dialect: ChatDialect): Result<ResponsesRequest, Objection> {
  const objections = new Objections();
  refuseState(body, objections);
  const toolset = readToolset(body, objections);
  const isStream = body["stream"] === true;
  const messages = readInput(body, objections);
  if (messages.length === 0) objections.raise("input", "at least one item is required");
  const chat = withoutUnset({
    ...without(body, NOT_OF_CHAT),
    messages,
    ...streamFields(isStream),
    ...toolset.chat,
    max_tokens: body["max_output_tokens"] ?? undefined,
    response_format: formatOf(fieldsOf(fieldsOf(body["text"])["format"])),
    reasoning_effort: effortOf(body["reasoning"]),
    ...logprobsOf(body),
    ...continuation(messages, dialect),
  });
  if (objections.first !== undefined) return err(objections.first);
  return ok({ body: chat, isStream, ask: { request: body, tools: toolset.named } });
}

/** Why a request cannot be answered by engines that change with each request; undefined: it can. */
export function stateObjection(body: Fields): Objection | undefined {
  const objections = new Objections();
  refuseState(body, objections);
  return objections.first;
}

function refuseState(body: Fields, objections: Objections): void {
  const isSet = (name: string): boolean => body[name] !== undefined && body[name] !== null;
  const send = "no answers are kept here: send the whole conversation as input";
  if (isSet("previous_response_id")) objections.raise("previous_response_id", send, "PREVIOUS_RESPONSE_NOT_SUPPORTED");
  if (isSet("conversation")) objections.raise("conversation", send, "PREVIOUS_RESPONSE_NOT_SUPPORTED");
  if (body["background"] === true) objections.raise("background", send, "PREVIOUS_RESPONSE_NOT_SUPPORTED");
  if (isSet("prompt")) objections.raise("prompt", "no prompts are kept here: send instructions and input");
}

function formatOf({ type, name, schema, strict, description }: Fields): Fields | undefined {
  if (type === "json_object") return { type };
  if (type !== "json_schema" || !isFields(schema)) return undefined;
  const rest = withoutUnset({ strict: strict ?? undefined, description: description ?? undefined });
  return { type, json_schema: { name: name ?? "answer", schema, ...rest } };
}

/** Those that every engine with such a setting knows. */
const EFFORTS: Readonly<Record<string, string>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
};

const effortOf = (reasoning: unknown): string | undefined => EFFORTS[textOf(fieldsOf(reasoning)["effort"])];

function logprobsOf({ top_logprobs: top, include }: Fields): Fields {
  if (typeof top === "number" && top > 0) return { logprobs: true, top_logprobs: top };
  return listOf(include).includes("message.output_text.logprobs") ? { logprobs: true } : {};
}
