import { countOf, type Fields, fieldsOf, isFields, listOf, parseJson, textOf } from "../../wire/json-value.ts";
import { type SseEvent, SseSplitter } from "../../wire/sse/splitter.ts";

/** Parts of an event that carry nothing of an answer. */
const EMPTY: ReadonlySet<unknown> = new Set([undefined, null, "", false]);

export const isEmpty = (value: unknown): boolean => EMPTY.has(value) || (Array.isArray(value) && value.length === 0);

/** What a client has of a stream of chat or completion chunks, as far as going on with it elsewhere needs it. */
export class Said {
  readonly #splitter = new SseSplitter();
  #pieces: string[] = [];
  #isCounted = false;
  #produced = 0;
  /** The first chunk; undefined: none has come. */
  first: Fields | undefined;
  /** The choices whose role the client knows. */
  readonly roles = new Set<number>();
  /** Characters of text. */
  length = 0;
  /** Why nobody can go on from here; undefined: somebody may. */
  problem: string | undefined;
  /** Tokens up to the last one that is no white space. */
  tokens = 0;

  push(bytes: Buffer): void {
    for (const event of this.#splitter.push(bytes)) if (this.problem === undefined) this.#read(event);
    if (this.#splitter.isTooLong) this.problem = "an event of it was too long";
  }

  text(): string {
    if (this.#pieces.length > 1) this.#pieces = [this.#pieces.join("")];
    return this.#pieces[0] ?? "";
  }

  /** The engine has counted its tokens on the way; otherwise each event counts as one. */
  get isCounted(): boolean {
    return this.#isCounted;
  }

  #read({ data }: SseEvent): void {
    const chunk = parseJson(data);
    if (!isFields(chunk)) this.problem = data === "[DONE]" ? "it was at its end" : "an event of it was no JSON";
    else if (!isEmpty(chunk["error"])) this.problem = "the engine had told of an error";
    else this.#readChunk(chunk);
  }

  #readChunk(chunk: Fields): void {
    this.first ??= chunk;
    let said = "";
    for (const value of listOf(chunk["choices"])) {
      const choice = fieldsOf(value);
      const index = countOf(choice["index"]) ?? 0;
      const text = textOf(choice["text"]) + this.#deltaOf(fieldsOf(choice["delta"]), index);
      if (text !== "" && index !== 0) this.problem = "it was of several answers";
      if (!isEmpty(choice["logprobs"])) this.problem = "it told the tokens' probabilities";
      if (!isEmpty(choice["finish_reason"])) this.problem = "it was at its end";
      said += text;
    }
    this.#count(chunk, said);
    if (said === "") return;
    this.#pieces.push(said);
    this.length += said.length;
    if (said.trim() !== "") this.tokens = this.#produced;
  }

  #deltaOf(delta: Fields, index: number): string {
    for (const [name, value] of Object.entries(delta)) {
      if (name === "role") this.roles.add(index);
      else if (name !== "content" && !isEmpty(value)) this.problem = `its ${name} had begun`;
    }
    return textOf(delta["content"]);
  }

  #count(chunk: Fields, said: string): void {
    const { usage, timings } = chunk;
    const counted = countOf(fieldsOf(usage)["completion_tokens"]) ?? countOf(fieldsOf(timings)["predicted_n"]);
    if (counted !== undefined) {
      this.#isCounted = true;
      this.#produced = counted;
    } else if (said !== "" && !this.#isCounted) this.#produced += 1;
  }
}
