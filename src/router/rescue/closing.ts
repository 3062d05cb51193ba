import { type Fields, countOf, fieldsOf, isFields, isList, listOf, parseJson, without } from "../../wire/json-value.ts";
import { namedEvent, SseSplitter } from "../../wire/sse/splitter.ts";
import type { EngineAsk } from "../translate/ask.ts";
import type { Usage } from "../usage.ts";
import { isEmpty } from "./said.ts";

/** What an answer took. */
export interface Counts extends Usage {
  readonly estimated: boolean;
}

const DONE = "data: [DONE]\n\n";
/** What of a chunk is of the answer's end, and not of all its chunks. */
const OF_ITS_END: ReadonlySet<string> = new Set(["choices", "usage", "timings"]);

/** What a stream lacks after its engine told why the answer ended; undefined: it had not. `tail`: the last events. */
export function closingOf(ask: EngineAsk, tail: Buffer, counts: () => Counts): Buffer | undefined {
  const chunks = new SseSplitter()
    .push(tail)
    .map(({ data }) => parseJson(data))
    .filter(isFields);
  if (chunks.some(isEndOfMessage)) return Buffer.from(namedEvent("message_stop", { type: "message_stop" }));
  const last = chunks.at(-1);
  const asked = askedIn(ask);
  if (last === undefined || finishedIn(chunks).size < answersOf(asked)) return undefined;
  const usage = chunks.some(isCounts) || !wantsUsage(asked) ? "" : usageChunk(without(last, OF_ITS_END), counts());
  return Buffer.from(usage + DONE);
}

/** The end, in a chat's or completion's chunks, of an answer that has as many tokens as were asked for. */
export function closingAtLength(ask: EngineAsk, counts: Counts): Buffer {
  const asked = askedIn(ask);
  const isChat = isList(asked["messages"]);
  const object = isChat ? "chat.completion.chunk" : "text_completion";
  const choice = { index: 0, ...(isChat ? { delta: {} } : { text: "" }), finish_reason: "length" };
  const usage = wantsUsage(asked) ? usageChunk({ object }, counts) : "";
  return Buffer.from(`${dataOf({ object, choices: [choice] })}${usage}${DONE}`);
}

const askedIn = ({ body }: EngineAsk): Fields => fieldsOf(parseJson(Buffer.concat(body.chunks).toString("utf8")));

const isEndOfMessage = ({ type, delta }: Fields): boolean =>
  type === "message_delta" && !isEmpty(fieldsOf(delta)["stop_reason"]);

const isCounts = ({ choices, usage }: Fields): boolean => isList(choices) && choices.length === 0 && isFields(usage);

const wantsUsage = ({ stream_options: options }: Fields): boolean => fieldsOf(options)["include_usage"] === true;

/** The numbers of the answers that have ended. */
const finishedIn = (chunks: readonly Fields[]): ReadonlySet<number> =>
  new Set(
    chunks
      .flatMap(({ choices }) => listOf(choices).map(fieldsOf))
      .filter((choice) => !isEmpty(choice["finish_reason"]))
      .map(({ index }) => countOf(index) ?? 0),
  );

/** How many were asked for: so many of each prompt. A list of numbers is one prompt. */
function answersOf({ n, prompt }: Fields): number {
  const prompts = isList(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1;
  return Math.max(1, countOf(n) ?? 1) * Math.max(1, prompts);
}

function usageChunk(fields: Fields, { prompt, cached, completion, estimated }: Counts): string {
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    ...(estimated ? { estimated } : {}),
  };
  return dataOf({ ...fields, choices: [], usage });
}

const dataOf = (chunk: Fields): string => `data: ${JSON.stringify(chunk)}\n\n`;
