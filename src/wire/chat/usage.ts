import { countOf, type Fields, fieldsOf } from "../json-value.ts";

/** What an answer took, as OpenAI's chat counts it. */
export interface ChatUsage {
  /** All of the prompt, cached tokens included. */
  readonly prompt: number;
  readonly cached: number;
  /** All of the answer, thoughts included. */
  readonly completion: number;
  readonly reasoning: number;
}

export const NO_USAGE: ChatUsage = { prompt: 0, cached: 0, completion: 0, reasoning: 0 };

/** Undefined for what holds no counts. */
export function readChatUsage(value: unknown): ChatUsage | undefined {
  const usage = fieldsOf(value);
  const prompt = countOf(usage["prompt_tokens"]);
  if (prompt === undefined) return undefined;
  const cached = detail(usage, "prompt_tokens_details", "cached_tokens");
  return {
    prompt,
    cached: Math.min(cached, prompt),
    completion: countOf(usage["completion_tokens"]) ?? 0,
    reasoning: detail(usage, "completion_tokens_details", "reasoning_tokens"),
  };
}

const detail = (usage: Fields, group: string, name: string): number => countOf(fieldsOf(usage[group])[name]) ?? 0;
