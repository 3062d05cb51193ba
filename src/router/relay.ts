import { ERRORS } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ending } from "./account.ts";
import { BodyWatch } from "./body-watch.ts";
import type { ClientResponse } from "./client/http-exchange.ts";
import type { Refusal } from "./error-body.ts";
import { lateAnswer } from "./held-stream.ts";
import { type StreamEnd, StreamWatch } from "./stream-watch.ts";
import { KEEP_ALIVE } from "./keep-alive.ts";
import { rewrittenHeaders } from "./relay-headers.ts";
import type { EngineAsk, Rewrite } from "./translate/ask.ts";
import { type Asker, mendingErrors } from "./translate/errors.ts";
import { Collector } from "./translate/collector.ts";
import { EventsFilter } from "./translate/events-filter.ts";
import { UsageFilter } from "./usage-filter.ts";
import { bytesOf, type Piece, textOf } from "./piece.ts";
import type { Usage } from "./usage.ts";

export interface RelayHead {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly isStream: boolean;
  /** The stream holds an event of counts that the client did not ask for. */
  readonly hidesUsage: boolean;
  /** Undefined: the engine's bytes are the client's. */
  readonly rewrite: Rewrite | undefined;
  readonly asker: Asker;
}

/** An engine's answer on its way to the client: the engine's bytes, and on event streams a line of our own between events. */
export class Relay {
  readonly #res: ClientResponse;
  readonly #head: RelayHead;
  readonly #stream: StreamWatch | undefined;
  readonly #body: BodyWatch | undefined;
  readonly #filter: UsageFilter | EventsFilter | undefined;
  readonly #collector: Collector | undefined;
  /** The client's stream was begun while its request was held: whatever comes now is an event of it. */
  readonly #isHeld: boolean;
  #hasBegun = false;
  /** Of the answer as the client gets it. */
  #status: number;
  bytesOut = 0;
  firstTokenAt: Millis | undefined;
  /** When bytes last went to the client, as the last tick found it: a look at the clock for each event would cost more. */
  sentAt: Millis;
  #hasSent = false;
  readonly #clock: Clock;

  constructor(res: ClientResponse, head: RelayHead, clock: Clock) {
    this.#res = res;
    this.#head = head;
    this.#clock = clock;
    this.sentAt = clock.monotonic();
    this.#status = head.status;
    this.#isHeld = res.headersSent;
    const rewrite = this.#isHeld ? heldRewrite(head) : head.rewrite;
    if (rewrite?.kind === "events") this.#filter = new EventsFilter(rewrite);
    else if (rewrite?.kind === "whole") this.#collector = new Collector(head.status, head.asker, rewrite);
    else if (head.isStream && head.hidesUsage) this.#filter = new UsageFilter();
    if (head.isStream) this.#stream = new StreamWatch();
    else this.#body = new BodyWatch();
  }

  /** Whether anything of the answer has been handed over to the client's connection. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  #begin(): void {
    this.#hasBegun = true;
    if (!this.#res.headersSent) this.#res.writeHead(this.#head.status, this.#head.headers as string[]);
  }

  /** False: the client does not keep up, and nothing more should be written before `drain`. */
  write(piece: Piece): boolean {
    this.#saw(piece);
    if (this.#collector !== undefined) {
      this.#collector.push(bytesOf(piece));
      return true;
    }
    this.#begin();
    const kept = this.#filtered(piece);
    if (kept.length === 0) return true;
    this.#hasSent = true;
    this.bytesOut += kept.length;
    return this.#res.write(kept, "latin1");
  }

  #filtered(piece: Piece): Piece {
    if (this.#filter === undefined) return piece;
    return this.#filter instanceof UsageFilter
      ? this.#filter.push(textOf(piece))
      : (this.#filter.push(bytesOf(piece)) ?? "");
  }

  /** The engine's answer is whole. What comes back is to be asked of the engine before the client has its own. */
  end(last: Piece): EngineAsk | undefined {
    if (last.length > 0) this.#saw(last);
    if (this.#collector !== undefined) return this.#endCollected(this.#collector, bytesOf(last));
    this.#begin();
    const kept = this.#finished(last);
    this.bytesOut += kept.length;
    this.#res.end(kept, "latin1");
    return undefined;
  }

  #finished(last: Piece): Piece {
    if (this.#filter === undefined) return last;
    if (this.#filter instanceof UsageFilter) return this.#filter.finish(textOf(last));
    return this.#filter.finish(last.length === 0 ? undefined : bytesOf(last)) ?? "";
  }

  #endCollected(collector: Collector, last: Buffer): EngineAsk | undefined {
    if (last.length > 0) collector.push(last);
    const { original, rewritten } = collector.finish();
    if (rewritten.kind === "ask") return rewritten.ask;
    this.#hasBegun = true;
    const isSame = rewritten.kind === "same";
    const body = isSame ? original : Buffer.from(rewritten.body);
    if (this.#isHeld) {
      this.#status = isSame ? this.#head.status : rewritten.status;
      this.#res.end(lateAnswer(this.#head.asker, { status: this.#status, body: body.toString("utf8") }));
      return undefined;
    }
    const headers = isSame ? [...this.#head.headers] : rewrittenHeaders(this.#head.headers);
    if (!isSame) headers.push("content-length", String(body.length));
    this.#status = isSame ? this.#head.status : rewritten.status;
    this.#res.writeHead(this.#status, headers);
    this.bytesOut += body.length;
    this.#res.end(body);
    return undefined;
  }

  #saw(piece: Piece): void {
    this.#body?.push(piece);
    if (this.#stream?.push(textOf(piece)) === true) this.firstTokenAt = this.#clock.monotonic();
  }

  onTick(now: Millis): void {
    if (this.#hasSent) this.sentAt = now;
    this.#hasSent = false;
  }

  /** The client has the status line even when no byte of the body follows for long. */
  flush(): void {
    if (this.#collector !== undefined) return;
    this.#begin();
    if (this.bytesOut === 0 && !this.#isHeld) this.#res.flushHeaders();
  }

  /** What was translated goes out in whole events. */
  get #isBetweenEvents(): boolean {
    return this.#filter instanceof EventsFilter || this.#stream?.isBetweenEvents === true;
  }

  /** Keeps proxies between from taking a silent stream for a dead one. */
  keepAlive(now: Millis): void {
    if (!this.#isBetweenEvents || this.#res.writableNeedDrain) return;
    this.sentAt = now;
    this.#res.write(KEEP_ALIVE[this.#head.asker.shape]);
  }

  /**
   * The engine is gone and the client has a part of its answer. A stream ends with an error event, never with [DONE];
   * anything else ends so that no client can take it for whole.
   */
  breakOff(errorEvent: string, { message, code }: Refusal): void {
    if (this.#filter instanceof EventsFilter) this.#res.end(this.#filter.fail(message, ERRORS[code].http));
    else if (this.#stream === undefined) this.#res.destroy();
    else this.#res.end(this.#stream.isBetweenEvents ? errorEvent : `\n\n${errorEvent}`);
  }

  /** What is known of an event stream so far; undefined: it is none. */
  get stream(): Omit<StreamWatch, "push"> | undefined {
    return this.#stream;
  }

  /** Nothing more will be asked of it. */
  release(): void {
    this.#stream?.release();
  }

  usage(): Usage | undefined {
    return this.#stream === undefined ? this.#body?.usage() : this.#stream.usage();
  }

  /** What an answer counts as that the engine ended by itself. */
  ending(): Ending {
    const status = this.#status;
    if (status >= 400) return { code: status, outcome: status >= 500 ? "engine_error" : "refused_by_engine" };
    const end: StreamEnd = this.#stream?.end() ?? { kind: "complete" };
    switch (end.kind) {
      case "complete":
        return { code: status, outcome: "complete" };
      case "truncated":
        return {
          code: ERRORS.ENGINE_BROKE_OFF.http,
          outcome: "truncated",
          detail: "the stream ended without a finish reason and without [DONE]",
        };
      case "engineError":
        return { code: end.code, outcome: "engine_error", detail: "the engine reported an error inside the stream" };
    }
  }
}

/** What is no stream must be whole before it can be an event of one. */
const heldRewrite = ({ isStream, rewrite, asker }: RelayHead): Rewrite | undefined =>
  isStream || rewrite?.kind === "whole" ? rewrite : mendingErrors(asker);
