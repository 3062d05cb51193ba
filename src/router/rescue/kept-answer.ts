import type { EngineApi } from "../../core/engine-api.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { ReplicaRoute } from "../../core/route.ts";
import type { EngineAsk } from "../translate/ask.ts";
import { ByteText } from "../byte-text.ts";
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

/** How another replica goes on. */
export interface Handover {
  readonly ask: EngineAsk;
  readonly stream: RestStream;
}

/**
 * What the client has of a stream, kept so that another replica can go on should this one die. Text of a character a byte
 * passes through in whole events: what a client has of half an event nobody could take back.
 */
export class KeptAnswer {
  readonly #ask: EngineAsk;
  readonly #room: RescueRoom;
  /** Made when it is first asked for: most streams end before. */
  #made: Course | undefined;
  /** Events as they came. */
  readonly #raw = new ByteText();
  #held = "";
  #taken: number;
  /** Bytes of events for which there is room. */
  #roomy = RAW_PIECE;
  /** Why nothing is kept any more. */
  #lost: string | undefined;

  private constructor(ask: EngineAsk, room: RescueRoom, taken: number) {
    this.#ask = ask;
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

  get #course(): Course {
    return (this.#made ??= courseOf(this.#ask));
  }

  /** What of this, and of what is held, goes on. */
  push(text: string): string {
    if (this.#lost !== undefined) return text;
    const all = this.#held + text;
    const end = endOfEvents(all);
    this.#held = all.slice(end);
    if (this.#held.length > LONGEST_HELD) {
      this.#lose("an event of it was too long");
      return all;
    }
    const whole = all.slice(0, end);
    if (whole === "") return "";
    this.#raw.push(whole);
    if (this.#raw.length > this.#roomy) this.#makeRoom();
    return whole;
  }

  #makeRoom(): void {
    if (this.#raw.length >= MOST_RAW) this.#read();
    while (this.#lost === undefined && this.#raw.length > this.#roomy) {
      if (this.#take(RAW_PIECE)) this.#roomy += RAW_PIECE;
    }
  }

  /** False: there is no room, and nothing is kept any more. */
  #take(amount: number): boolean {
    if (this.#room.take(amount)) this.#taken += amount;
    else this.#lose("there was no room to keep it");
    return this.#lost === undefined;
  }

  /** The stream ends with this: all of it goes on, and what is held. */
  finish(last: string): string {
    const held = this.#held;
    this.#held = "";
    return held + last;
  }

  #read(): void {
    const { said } = this.#course;
    const before = said.length;
    for (const piece of this.#raw.pieces()) said.push(piece);
    this.#raw.clear();
    const grown = (said.length - before) * BYTES_PER_CHARACTER;
    if (said.length > LONGEST_TEXT) this.#lose("it was too long to be kept");
    else if (said.problem !== undefined) this.#lose(said.problem);
    else this.#take(grown);
  }

  #lose(why: string): void {
    this.#lost = why;
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
    this.#held = "";
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
    this.#raw.clear();
    this.#held = "";
    this.#room.give(this.#taken);
    this.#taken = 0;
  }
}

const BORDERS = ["\n\n", "\n\r\n", "\r\r"] as const;

/** Where the last whole event ends. Nearly all reads end with one. */
const endOfEvents = (text: string): number =>
  text.endsWith(BORDERS[0]) || text.endsWith(BORDERS[1])
    ? text.length
    : Math.max(...BORDERS.map((border) => endOf(text, border)));

function endOf(text: string, border: string): number {
  const at = text.lastIndexOf(border);
  return at === -1 ? 0 : at + border.length;
}
