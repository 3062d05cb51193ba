import { chunk, json, LAST_CHUNK, STREAM_HEAD } from "./raw-upstream.ts";

const usage = {
  prompt_tokens: 20,
  completion_tokens: 7,
  total_tokens: 27,
  prompt_tokens_details: { cached_tokens: 15 },
};
const head = { id: "chatcmpl-1", created: 5, model: "m" };
const CALL = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };

/** What an engine says that has chat. */
export const answer = (message: unknown, finish = "stop"): string =>
  json(
    JSON.stringify({
      ...head,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: finish }],
      usage,
    }),
  );

const event = (value: unknown): Buffer => chunk(`data: ${JSON.stringify(value)}\n\n`);
/** One event of a stream. */
export const delta = (value: unknown, finish: string | null = null): Buffer =>
  event({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta: value, finish_reason: finish }] });
/** The counts and the end of a stream. */
export const END = Buffer.concat([
  event({ ...head, choices: [], usage }),
  chunk("data: [DONE]\n\n"),
  Buffer.from(LAST_CHUNK),
]);
/** A stream's head and its first events. */
export const begun = (...events: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from(STREAM_HEAD), ...events]);
export const THINKS_AND_CALLS = begun(
  delta({ role: "assistant", reasoning_content: "hm" }),
  delta({ content: "Let me look." }),
  delta({ tool_calls: [{ index: 0, ...CALL }] }),
  delta({}, "tool_calls"),
  END,
);
