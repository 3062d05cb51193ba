import { Code, ConnectError, type StreamResponse, type Transport } from "@connectrpc/connect";
import { Channel } from "./channel.ts";
import type { Dice } from "./dice.ts";
import { type Lifetime, never, type SimClock } from "./sim-clock.ts";

/** How the network is for one of its ends, an agent or a router. */
export interface Weather {
  /** What a message takes one way, ms. */
  latency: number;
  /** How many of the messages arrive twice. */
  repeats: number;
  /** Nothing comes through. What is sent meanwhile waits, and comes late or never. */
  isCut: boolean;
}

/** Alters what one end is told or says; undefined: it gets lost. Only tests of the tests do that. */
export type Mangle = (party: string, direction: "up" | "down", message: unknown) => unknown;

interface Stream {
  readonly party: string;
  readonly up: Channel<unknown>;
  readonly down: Channel<unknown>;
  readonly server: AbortController;
  /** Held up by a cut, in order. */
  readonly held: (() => void)[];
  arrivesAt: { up: number; down: number };
}

const FAIR_WEATHER = { latency: 1, repeats: 0, isCut: false };
/** ms. A connection that is opened during a cut does not come about when the cut ends: it is waited for so long. */
export const CONNECT_TIMEOUT = 10_000;
const PREMATURE = "premature close";

/** The ways of all agents and routers to the control plane: every message on them is delayed, doubled or lost here. */
export class Network {
  readonly #clock: SimClock;
  readonly #dice: Dice;
  readonly #mangle: Mangle;
  readonly #weather = new Map<string, Weather>();
  readonly #streams = new Set<Stream>();
  /** Of the control plane that runs; undefined: none does. */
  server: Transport | undefined;

  constructor(clock: SimClock, dice: Dice, mangle: Mangle = (_party, _direction, message) => message) {
    this.#clock = clock;
    this.#dice = dice;
    this.#mangle = mangle;
  }

  weatherOf(party: string): Weather {
    const known = this.#weather.get(party);
    if (known !== undefined) return known;
    const fair = { ...FAIR_WEATHER };
    this.#weather.set(party, fair);
    return fair;
  }

  /** Breaks every stream of the party: one end finds out at once, the other later. */
  breakStreams(party: string, later: number): void {
    for (const stream of [...this.#streams]) if (stream.party === party) this.#break(stream, later);
  }

  /** Of a control plane that is gone: whoever was connected finds out at once. */
  serverEnded(): void {
    this.server = undefined;
    for (const stream of [...this.#streams]) this.#break(stream, 0);
  }

  /** What was held up arrives late, or its connections turn out to be broken. */
  mend(party: string, isLate: boolean): void {
    this.weatherOf(party).isCut = false;
    for (const stream of [...this.#streams].filter((one) => one.party === party)) {
      const held = stream.held.splice(0);
      if (isLate) for (const deliver of held) deliver();
      else this.#break(stream, 0);
    }
  }

  /** The party's way to whatever control plane runs, for as long as it lives. */
  wayOf(party: string, life: Lifetime, header: Readonly<Record<string, string>> = {}): Transport {
    return {
      unary: async (method, signal, timeoutMs, given, input, values) => {
        await this.#clock.passed(this.weatherOf(party).latency);
        const server = this.#reachable(party);
        if (server === undefined) throw new ConnectError("connection refused", Code.Unavailable);
        const answer = await server.unary(method, signal, timeoutMs, { ...given, ...header }, input, values);
        return life.isOver() ? never() : answer;
      },
      stream: async (method, signal, _timeoutMs, given, input, values) => {
        await this.#clock.passed(this.weatherOf(party).latency);
        if (life.isOver()) return never();
        if (signal?.aborted === true) throw new ConnectError("the stream was given up", Code.Canceled);
        if (this.weatherOf(party).isCut) await this.#noConnection(signal);
        const server = this.server;
        if (server === undefined) throw new ConnectError("connection refused", Code.Unavailable);
        const stream = this.#open(party);
        void this.#send(stream, input, life);
        signal?.addEventListener("abort", () => {
          this.#leave(stream);
        });
        const up = stream.up as unknown as typeof input;
        const response = server.stream(method, stream.server.signal, undefined, { ...given, ...header }, up, values);
        void this.#answer(stream, response);
        const message = stream.down as unknown as AsyncIterable<never>;
        const parts = { service: method.parent, method, header: new Headers(), trailer: new Headers() };
        return { stream: true as const, ...parts, message };
      },
    };
  }

  /** Rejects when it is given up, by whoever asked or for want of an answer. */
  async #noConnection(signal: AbortSignal | undefined): Promise<never> {
    const given = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => {
      given.reject(new ConnectError("the connection was given up", Code.Canceled));
    });
    this.#clock.after(CONNECT_TIMEOUT, () => {
      given.reject(new ConnectError("the connection timed out", Code.Unavailable));
    });
    return given.promise;
  }

  #reachable(party: string): Transport | undefined {
    return this.weatherOf(party).isCut ? undefined : this.server;
  }

  #open(party: string): Stream {
    const stream: Stream = {
      ...{ party, up: new Channel(), down: new Channel(), server: new AbortController() },
      ...{ held: [], arrivesAt: { up: 0, down: 0 } },
    };
    this.#streams.add(stream);
    return stream;
  }

  async #send(stream: Stream, input: AsyncIterable<unknown>, life: Lifetime): Promise<void> {
    let isFirst = true;
    for await (const message of input) {
      if (life.isOver()) return;
      this.#carry(stream, "up", message, isFirst);
      isFirst = false;
    }
    if (!life.isOver())
      this.#arrive(stream, "up", () => {
        stream.up.close();
      });
  }

  async #answer(stream: Stream, response: Promise<Pick<StreamResponse, "message">>): Promise<void> {
    try {
      for await (const message of (await response).message) this.#carry(stream, "down", message, false);
      this.#arrive(stream, "down", () => {
        this.#close(stream);
      });
    } catch (error) {
      this.#arrive(stream, "down", () => {
        this.#close(stream, ConnectError.from(error));
      });
    }
  }

  #carry(stream: Stream, direction: "up" | "down", message: unknown, isFirst: boolean): void {
    const carried = this.#mangle(stream.party, direction, message);
    if (carried === undefined) return;
    const { repeats } = this.weatherOf(stream.party);
    const copies = !isFirst && repeats > 0 && this.#dice.chance(repeats) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      this.#arrive(stream, direction, () => {
        stream[direction].push(carried);
      });
    }
  }

  /** In the order in which they were sent. */
  #arrive(stream: Stream, direction: "up" | "down", deliver: () => void): void {
    const { latency } = this.weatherOf(stream.party);
    const at = Math.max(stream.arrivesAt[direction], this.#clock.now + latency);
    stream.arrivesAt[direction] = at;
    this.#clock.after(at - this.#clock.now, () => {
      if (!this.#streams.has(stream)) return;
      if (this.weatherOf(stream.party).isCut || stream.held.length > 0) stream.held.push(deliver);
      else deliver();
    });
  }

  /** The party has let go. The server hears of it when the network lets it. */
  #leave(stream: Stream): void {
    stream.down.close(new ConnectError("the stream was given up", Code.Canceled));
    this.#arrive(stream, "up", () => {
      this.#close(stream, new ConnectError(PREMATURE, Code.Aborted));
    });
  }

  #break(stream: Stream, later: number): void {
    if (!this.#streams.has(stream)) return;
    stream.down.close(new ConnectError(PREMATURE, Code.Aborted));
    this.#clock.after(later, () => {
      this.#close(stream, new ConnectError(PREMATURE, Code.Aborted));
    });
  }

  #close(stream: Stream, error?: ConnectError): void {
    this.#streams.delete(stream);
    stream.down.close(error);
    stream.up.close(error);
    stream.server.abort(error);
  }
}
