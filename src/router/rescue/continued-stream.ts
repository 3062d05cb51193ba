import { countOf, type Fields, fieldsOf, isFields, listOf, parseJson, textOf } from "../../wire/json-value.ts";
import { type SseEvent, SseSplitter } from "../../wire/sse/splitter.ts";
import { isEmpty } from "./said.ts";

/** What the client has of the stream already. */
interface Known {
  /** The first chunk; undefined: no chunk has come. */
  readonly first: Fields | undefined;
  readonly roles: ReadonlySet<number>;
}

interface Told {
  /** White space that the client has and the engine may say again. */
  readonly again: string;
  /** Tokens of the answer that the engine was given as prompt. */
  readonly tokens: number;
}

/** By what a client knows that chunks are of one answer. */
const IDENTITY = ["id", "created", "model", "system_fingerprint"] as const;

/** Makes an engine's stream the rest of another's: the same identity, nothing said twice, counts of the whole. */
export class ContinuedStream {
  readonly #splitter = new SseSplitter();
  readonly #known: Known;
  readonly #tokens: number;
  #again: string;

  constructor(known: Known, { again, tokens }: Told) {
    this.#known = { first: known.first, roles: new Set(known.roles) };
    this.#again = again;
    this.#tokens = tokens;
  }

  /** Whole events; undefined for none. */
  push(bytes: Buffer): Buffer | undefined {
    return this.#written(this.#splitter.push(bytes));
  }

  /** The stream ends with these bytes. */
  finish(last: Buffer | undefined): Buffer | undefined {
    const events = last === undefined ? [] : this.#splitter.push(last);
    return this.#written([...events, ...this.#splitter.finish()]);
  }

  #written(events: readonly SseEvent[]): Buffer | undefined {
    const text = events.map((event) => this.#event(event)).join("");
    return text === "" ? undefined : Buffer.from(text);
  }

  #event({ name, data }: SseEvent): string {
    const chunk = parseJson(data);
    const mended = isFields(chunk) ? this.#chunk(chunk) : data;
    if (mended === undefined) return "";
    return `${name === "" ? "" : `event: ${name}\n`}${dataLines(mended)}\n`;
  }

  /** Undefined: there is nothing new in it. */
  #chunk(chunk: Fields): string | undefined {
    const mended: Record<string, unknown> = { ...chunk };
    for (const name of IDENTITY) this.#identify(mended, name);
    if (isFields(chunk["usage"])) mended["usage"] = usageOfWhole(chunk["usage"], this.#tokens);
    if (isFields(chunk["timings"])) mended["timings"] = timingsOfWhole(chunk["timings"], this.#tokens);
    const choices = listOf(chunk["choices"]).map((choice) => this.#choice(fieldsOf(choice)));
    if (choices.length > 0 && choices.every((choice) => choice === undefined)) return undefined;
    if (choices.length > 0) mended["choices"] = choices.filter((choice) => choice !== undefined);
    return JSON.stringify(mended);
  }

  #identify(chunk: Record<string, unknown>, name: (typeof IDENTITY)[number]): void {
    const { first } = this.#known;
    if (first === undefined) return;
    if (name in first) chunk[name] = first[name];
    else Reflect.deleteProperty(chunk, name);
  }

  #choice(choice: Fields): Fields | undefined {
    const { delta, text } = choice;
    if (!isFields(delta)) return this.#kept({ ...choice, text: this.#unsaid(textOf(text)) }, text);
    const mended: Record<string, unknown> = { ...delta };
    if (this.#known.roles.has(countOf(choice["index"]) ?? 0)) Reflect.deleteProperty(mended, "role");
    if (typeof delta["content"] === "string") mended["content"] = this.#unsaid(delta["content"]);
    const isNew = Object.values(mended).some((value) => !isEmpty(value));
    const wasNew = Object.values(delta).some((value) => !isEmpty(value));
    return isNew || !wasNew || !isEmpty(choice["finish_reason"]) ? { ...choice, delta: mended } : undefined;
  }

  #kept(choice: Fields, before: unknown): Fields | undefined {
    const isEmptied = isEmpty(choice["text"]) && !isEmpty(before);
    return isEmptied && isEmpty(choice["finish_reason"]) ? undefined : choice;
  }

  /** The text without the white space that the client has already. */
  #unsaid(text: string): string {
    if (this.#again === "" || text === "") return text;
    let same = 0;
    while (same < text.length && same < this.#again.length && text[same] === this.#again[same]) same += 1;
    this.#again = same < text.length ? "" : this.#again.slice(same);
    return text.slice(same);
  }
}

const dataLines = (data: string): string =>
  data
    .split("\n")
    .map((line) => `data: ${line}\n`)
    .join("");

/** The prompt counted once, and both parts of the answer. */
function usageOfWhole(usage: Fields, tokens: number): Fields {
  const prompt = countOf(usage["prompt_tokens"]);
  const completion = countOf(usage["completion_tokens"]);
  if (prompt === undefined || completion === undefined) return usage;
  const before = Math.max(0, prompt - tokens);
  const whole: Record<string, unknown> = { ...usage, prompt_tokens: before, completion_tokens: completion + tokens };
  const details = usage["prompt_tokens_details"];
  const cached = countOf(fieldsOf(details)["cached_tokens"]);
  if (isFields(details) && cached !== undefined) {
    whole["prompt_tokens_details"] = { ...details, cached_tokens: Math.min(cached, before) };
  }
  whole["total_tokens"] = before + completion + tokens;
  return whole;
}

/** The same for an engine's own counts. Its speeds stay those of its part. */
function timingsOfWhole(timings: Fields, tokens: number): Fields {
  const { prompt_n: read, cache_n: cache, predicted_n: predicted } = timings;
  const prompt = Math.max(0, (countOf(read) ?? 0) + (countOf(cache) ?? 0) - tokens);
  const cached = Math.min(countOf(cache) ?? 0, prompt);
  return { ...timings, cache_n: cached, prompt_n: prompt - cached, predicted_n: (countOf(predicted) ?? 0) + tokens };
}
