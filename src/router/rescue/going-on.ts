import type { EngineApi } from "../../core/engine-api.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { countOf, type Fields, fieldsOf, isFields, isList, listOf, parseJson } from "../../wire/json-value.ts";
import type { Body } from "../ask-usage.ts";
import { jsonBody } from "../translate/ask.ts";
import { isEmpty, type Said } from "./said.ts";

/** How another engine is asked to go on, and what it may say once more that the client has. */
export interface GoingOn {
  /** Undefined: it has all the tokens that were asked for, and nobody is to be asked. */
  readonly body: Body | undefined;
  /** White space at the end of what was said. Templates cut it off, and so it is left out and will be said again. */
  readonly again: string;
  /** Tokens of what was said that the engine will count as prompt. */
  readonly tokens: number;
}

interface Half {
  /** What was asked. */
  readonly asked: Fields;
  readonly text: string;
}

const FORMS = ["grammar", "json_schema", "structured_outputs", "regex", "ebnf", "guided_json", "guided_regex"] as const;
const MORE_FORMS = ["guided_choice", "guided_grammar", "guided_decoding_backend"] as const;

interface Refusal {
  readonly why: string;
  readonly holds: (half: Half) => boolean;
}

/** What is more than one text, and must not be gone on with: the first that applies is the reason. */
const OF_MORE: readonly Refusal[] = [
  { why: "several answers were asked for", holds: ({ asked }) => isMany(asked["n"]) || isMany(asked["best_of"]) },
  {
    why: "probabilities were asked for",
    // Of completions 0 asks for the chosen token's.
    holds: ({ asked }) =>
      typeof asked["logprobs"] === "number" || ["logprobs", "top_logprobs", "prompt_logprobs"].some(isSetIn(asked)),
  },
  { why: "tokens were asked for", holds: ({ asked }) => ["return_token_ids", "return_tokens"].some(isSetIn(asked)) },
  { why: "the prompt was asked for again", holds: ({ asked }) => !isEmpty(asked["echo"]) },
  { why: "what comes after the answer was given", holds: ({ asked }) => !isEmpty(asked["suffix"]) },
  { why: "sound was asked for", holds: ({ asked }) => !isEmpty(asked["audio"]) },
  { why: "beams were asked for", holds: ({ asked }) => !isEmpty(asked["use_beam_search"]) },
];

/** What another could not know of the half that was said. */
const OF_ITS_HALF: readonly Refusal[] = [
  {
    why: "the form of the answer was given, which holds from its beginning",
    holds: ({ asked }) => !isPlain(asked["response_format"]) || [...FORMS, ...MORE_FORMS].some(isSetIn(asked)),
  },
  {
    why: "a call of a tool was asked for",
    holds: ({ asked: { tool_choice: choice } }) => choice === "required" || isFields(choice),
  },
  { why: "it was drawn by a seed, from its beginning", holds: ({ asked }) => isSeeded(asked) },
  {
    why: "a stop sequence had begun",
    holds: ({ asked, text }) => stopsOf(asked).some((stop) => endsInside(text, stop)),
  },
  { why: "it ended in half a character", holds: ({ text }) => !text.isWellFormed() },
];

const isSetIn =
  (asked: Fields) =>
  (name: string): boolean =>
    !isEmpty(asked[name]);
const isMany = (value: unknown): boolean => (countOf(value) ?? 1) > 1;
const isPlain = (format: unknown): boolean => isEmpty(format) || fieldsOf(format)["type"] === "text";

/** Without chance a seed changes nothing. A negative one asks for any. */
function isSeeded({ seed, temperature, top_k: topK }: Fields): boolean {
  return countOf(seed) !== undefined && temperature !== 0 && topK !== 1;
}

const stopsOf = ({ stop }: Fields): readonly unknown[] => (isList(stop) ? stop : [stop]);

/** Whether the text ends with a beginning of the stop sequence. */
function endsInside(text: string, stop: unknown): boolean {
  if (typeof stop !== "string") return false;
  for (let length = Math.min(stop.length, text.length); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return true;
  }
  return false;
}

/** How an engine with those capabilities goes on with what another has said; or why none of its kind can. */
export function goingOn(asked: Body, said: Said, apis: readonly EngineApi[]): Result<GoingOn, string> {
  if (said.problem !== undefined) return err(said.problem);
  const text = said.text();
  const replayed = text.trimEnd();
  const again = text.slice(replayed.length);
  // Nothing that matters was said: the whole answer may as well come from another.
  if (replayed === "") return ok({ body: asked, again, tokens: 0 });
  const fields = parseJson(Buffer.concat(asked.chunks).toString("utf8"));
  if (!isFields(fields)) return err("the request is malformed");
  const why = reasonOf(OF_MORE, { asked: fields, text });
  if (why !== undefined) return err(why);
  const less = withFewer(fields, said);
  if (less === undefined) return ok({ body: undefined, again: "", tokens: 0 });
  const reason = reasonOf(OF_ITS_HALF, { asked: fields, text });
  if (reason !== undefined) return err(reason);
  const replay = isList(fields["messages"]) ? replayChat(less, replayed, apis) : replayPrompt(less, replayed);
  return replay.ok ? ok({ body: jsonBody(replay.value), again, tokens: said.tokens }) : replay;
}

const reasonOf = (refusals: readonly Refusal[], half: Half): string | undefined =>
  refusals.find(({ holds }) => holds(half))?.why;

const MOST = ["max_tokens", "max_completion_tokens", "n_predict"] as const;

/** With bounds on the tokens that are left; undefined: none are. */
function withFewer(asked: Fields, { produced, tokens }: Said): Fields | undefined {
  const fewer: Record<string, unknown> = { ...asked };
  for (const name of MOST) {
    const most = countOf(asked[name]);
    if (most === undefined) continue;
    if (most <= produced) return undefined;
    fewer[name] = most - tokens;
  }
  const least = countOf(asked["min_tokens"]);
  if (least !== undefined) fewer["min_tokens"] = Math.max(0, least - tokens);
  return fewer;
}

function replayPrompt(asked: Fields, text: string): Result<Fields, string> {
  const { prompt } = asked;
  const [only, ...more] = isList(prompt) ? prompt : [prompt];
  if (typeof only !== "string" || more.length > 0) return err("its prompt is not one text");
  return ok({ ...asked, prompt: only + text });
}

/** The text so far as the last message, which the engine goes on with. */
function replayChat(asked: Fields, text: string, apis: readonly EngineApi[]): Result<Fields, string> {
  const messages = listOf(asked["messages"]);
  const last = fieldsOf(messages.at(-1));
  const isAsked = apis.includes("continues-when-asked");
  if (!isAsked && !apis.includes("continues-last-message")) return err("its engine cannot go on with half an answer");
  // The client has begun the answer itself, and the text is the rest of that message.
  const isBegun = last["role"] === "assistant" && (!isAsked || asked["continue_final_message"] === true);
  const { content } = last;
  if (isBegun && typeof content !== "string") return err("the client's own beginning of it is not one text");
  const message = isBegun ? { ...last, content: String(content) + text } : { role: "assistant", content: text };
  const flags = isAsked ? { continue_final_message: true, add_generation_prompt: false } : {};
  return ok({ ...asked, messages: [...messages.slice(0, isBegun ? -1 : undefined), message], ...flags });
}
