import type { EngineApi } from "../../core/engine-api.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { ReplicaRoute } from "../../core/route.ts";
import type { EngineAsk } from "../translate/ask.ts";
import { closingAtLength, closingOf, type Counts } from "./closing.ts";
import { type Course, courseOf, type RestStream } from "./course.ts";
import { mayBeKept } from "./may-be-kept.ts";
import type { RescueRoom } from "./room.ts";

/** Of a request: longer ones are not kept. */
const LONGEST_ASK = 4 * 1024 * 1024;
/** Characters of an answer: about 60,000 tokens. */
const LONGEST_TEXT = 256 * 1024;
/** Events are kept as they came, and read when they are so many, some 500: most streams end before. */
const MOST_RAW = 128 * 1024;
/** Room for them is taken in such pieces. */
const RAW_PIECE = 8 * 1024;
/** Of an event that has not ended. A longer one goes on as it comes. */
const LONGEST_HELD = 64 * 1024;
const BYTES_PER_CHARACTER = 2;

const LF = 0x0a;
const CR = 0x0d;

/** How another replica goes on. */
export interface Handover {
  readonly ask: EngineAsk;
  readonly stream: RestStream;
}

/**
 * What the client has of a stream, kept so that another replica can go on should this one die. Bytes pass through in whole
 * events: what a client has of half an event nobody could take back.
 */
export class KeptAnswer {
  readonly #ask: EngineAsk;
  readonly #room: RescueRoom;
  readonly #course: Course;
  #raw: Buffer[] = [];
  #rawBytes = 0;
  #held: Buffer | undefined;
  #taken: number;
  /** Bytes of events for which there is room. */
  #roomy = RAW_PIECE;
  /** Why nothing is kept any more. */
  #lost: string | undefined;

  private constructor(ask: EngineAsk, room: RescueRoom, taken: number) {
    this.#ask = ask;
    this.#course = courseOf(ask);
    this.#room = room;
    this.#taken = taken;
  }

  /** Undefined: nobody could go on with it, or there is no room for it. What is given is to be released. */
  static of(ask: EngineAsk, of: Pick<ReplicaRoute, "apis">, room: RescueRoom): KeptAnswer | undefined {
    const taken = ask.body.bytes + RAW_PIECE;
    return mayBeKept(ask, of) && ask.body.bytes <= LONGEST_ASK && room.take(taken)
      ? new KeptAnswer(ask, room, taken)
      : undefined;
  }

  /** What of these bytes, and of those held, goes on; undefined for nothing. */
  push(chunk: Buffer): Buffer | undefined {
    if (this.#lost !== undefined) return chunk;
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    const end = endOfEvents(bytes);
    this.#held = end === bytes.length ? undefined : bytes.subarray(end);
    if (this.#held !== undefined && this.#held.length > LONGEST_HELD) {
      this.#lose("an event of it was too long");
      return bytes;
    }
    if (end === 0) return undefined;
    const whole = end === bytes.length ? bytes : bytes.subarray(0, end);
    this.#raw.push(whole);
    this.#rawBytes += whole.length;
    if (this.#rawBytes > this.#roomy) this.#makeRoom();
    return whole;
  }

  #makeRoom(): void {
    if (this.#rawBytes >= MOST_RAW) this.#read();
    while (this.#lost === undefined && this.#rawBytes > this.#roomy) {
      if (this.#take(RAW_PIECE)) this.#roomy += RAW_PIECE;
    }
  }

  /** False: there is no room, and nothing is kept any more. */
  #take(amount: number): boolean {
    if (this.#room.take(amount)) this.#taken += amount;
    else this.#lose("there was no room to keep it");
    return this.#lost === undefined;
  }

  /** The stream ends with these bytes: all of them go on, and those held. */
  finish(last: Buffer | undefined): Buffer | undefined {
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined || last === undefined) return held ?? last;
    return Buffer.concat([held, last]);
  }

  #read(): void {
    const { said } = this.#course;
    const before = said.length;
    said.push(Buffer.concat(this.#raw));
    this.#raw = [];
    this.#rawBytes = 0;
    const grown = (said.length - before) * BYTES_PER_CHARACTER;
    if (said.length > LONGEST_TEXT) this.#lose("it was too long to be kept");
    else if (said.problem !== undefined) this.#lose(said.problem);
    else this.#take(grown);
  }

  #lose(why: string): void {
    this.#lost = why;
    this.#raw = [];
    this.#held = undefined;
    this.release();
  }

  /** How that replica goes on from here; or why it cannot. */
  handOver({ id, apis }: Pick<ReplicaRoute, "id" | "apis">): Result<Handover, string> {
    if (this.#ask.fits?.(id) === false) return err("the other was started with other adapters");
    const next = this.#goOn(apis ?? []);
    if (!next.ok) return next;
    const { ask, isWhole, stream } = next.value;
    return isWhole ? err("nothing was left to be said") : ok({ ask, stream });
  }

  #goOn(apis: readonly EngineApi[]): ReturnType<Course["goOn"]> {
    this.#held = undefined;
    if (this.#lost === undefined) this.#read();
    return this.#lost === undefined ? this.#course.goOn(apis) : err(this.#lost);
  }

  /**
   * What a stream still lacks of whose answer nothing is lost with the engine: it had told of its end, or has as many tokens
   * as were asked for. `tail`: the last events. Undefined: the engine had more to say.
   */
  closing(tail: Buffer, counts: () => Counts): Buffer | undefined {
    const told = closingOf(this.#ask, tail, counts);
    if (told !== undefined) return told;
    const next = this.#goOn(["chat"]);
    if (!next.ok || !next.value.isWhole) return undefined;
    const { ask, stream } = next.value;
    return stream.finish(closingAtLength(ask, { ...counts(), completion: this.#course.said.produced }));
  }

  /** The engine has told its tokens on the way. */
  get isCounted(): boolean {
    const { said } = this.#course;
    return said.isCounted || said.length === 0;
  }

  release(): void {
    this.#room.give(this.#taken);
    this.#taken = 0;
  }
}

/** Where the last whole event ends. Nearly all reads end with one. */
function endOfEvents(bytes: Buffer): number {
  const { length } = bytes;
  if (
    bytes[length - 1] === LF &&
    (bytes[length - 2] === LF || (bytes[length - 2] === CR && bytes[length - 3] === LF))
  ) {
    return length;
  }
  return Math.max(...BORDERS.map((border) => endOf(bytes, border)));
}

const BORDERS = [Buffer.from("\n\n"), Buffer.from("\n\r\n"), Buffer.from("\r\r")] as const;

function endOf(bytes: Buffer, border: Buffer): number {
  const at = bytes.lastIndexOf(border);
  return at === -1 ? 0 : at + border.length;
}
