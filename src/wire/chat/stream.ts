import { readEngineFault } from "../engine-error.ts";
import { parseJson } from "../json-value.ts";
import { type SseEvent, SseSplitter } from "../sse/splitter.ts";
import { BlockReader } from "./blocks.ts";
import { type ChatPiece, readChatPiece } from "./piece.ts";
import type { Begun, Speaker } from "./speaker.ts";
import { type ChatUsage, NO_USAGE } from "./usage.ts";

/**
 * Says a chat stream in the words of another API, event by event, whatever reads its bytes come in. What ends without a
 * reason, breaks or makes no sense ends with an error event.
 */
export class ChatStream {
  readonly #splitter = new SseSplitter();
  readonly #reader: BlockReader;
  readonly #speaker: Speaker;
  #hasBegun: boolean;
  #isOver = false;
  #finish = "";
  #stop: string | undefined;
  #usage: ChatUsage = NO_USAGE;

  /** `begun`: what the client has of the answer already; undefined: nothing. */
  constructor(speaker: Speaker, begun?: Begun) {
    this.#speaker = speaker;
    this.#reader = new BlockReader(begun?.text);
    this.#hasBegun = begun !== undefined;
  }

  push(bytes: Uint8Array): string {
    const said = this.#say(this.#splitter.push(bytes));
    return this.#splitter.isTooLong ? said + this.fail("The engine sent an event that does not end.", 502) : said;
  }

  /** The engine's stream is over. */
  finish(): string {
    const said = this.#say(this.#splitter.finish());
    if (this.#finish !== "") return said + this.#end();
    return said + this.fail("The engine's stream ended before its answer did.", 502);
  }

  /** Ends the stream with an error, unless it is over. */
  fail(message: string, status: number): string {
    if (this.#isOver) return "";
    this.#isOver = true;
    return this.#speaker.fail({ message, status });
  }

  #say(events: readonly SseEvent[]): string {
    let said = "";
    for (const event of events) if (!this.#isOver) said += this.#event(event);
    return said;
  }

  #event({ data }: SseEvent): string {
    if (data === "[DONE]") return this.#end();
    const value = parseJson(data);
    const fault = readEngineFault(value);
    if (fault !== undefined) return this.fail(fault.message, fault.status === 0 ? 502 : fault.status);
    const piece = readChatPiece(value);
    return piece === undefined ? this.fail("The engine sent an event that is none of chat.", 502) : this.#piece(piece);
  }

  #piece(piece: ChatPiece): string {
    let said = this.#hasBegun ? "" : this.#speaker.begin(piece);
    this.#hasBegun = true;
    for (const step of this.#reader.push(piece)) said += this.#speaker.step(step);
    if (this.#reader.isTangled) return said + this.fail("The engine's tool calls are tangled.", 502);
    if (piece.finish !== "") this.#finish = piece.finish;
    this.#stop = piece.stop ?? this.#stop;
    this.#usage = piece.usage ?? this.#usage;
    return said;
  }

  #end(): string {
    if (this.#isOver) return "";
    if (!this.#hasBegun) return this.fail("The engine's stream holds no answer.", 502);
    this.#isOver = true;
    let said = "";
    for (const step of this.#reader.finish()) said += this.#speaker.step(step);
    const { hasCalls } = this.#reader;
    return said + this.#speaker.end({ finish: this.#finish, stop: this.#stop, usage: this.#usage, hasCalls });
  }
}
