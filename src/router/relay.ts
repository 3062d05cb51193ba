import type { ServerResponse } from "node:http";
import { ERRORS } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import type { Ending } from "./account.ts";
import { BodyWatch } from "./body-watch.ts";
import { type StreamEnd, StreamWatch } from "./stream-watch.ts";
import { UsageFilter } from "./usage-filter.ts";
import type { Usage } from "./usage.ts";

/**
 * A comment and no empty line after it: some clients take an empty line for the end of an event, and parse nothing, once
 * the engine has sent an id.
 */
const COMMENT = Buffer.from(": waiting\n");

export interface RelayHead {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly isStream: boolean;
  /** The stream holds an event of counts that the client did not ask for. */
  readonly hidesUsage: boolean;
}

/** An engine's answer on its way to the client: the engine's bytes, and on event streams a line of our own between events. */
export class Relay {
  readonly #res: ServerResponse;
  readonly #head: RelayHead;
  readonly #stream: StreamWatch | undefined;
  readonly #body: BodyWatch | undefined;
  readonly #filter: UsageFilter | undefined;
  bytesOut = 0;
  firstTokenAt: Millis | undefined;
  /** When bytes last went to the client. */
  sentAt: Millis;

  constructor(res: ServerResponse, head: RelayHead, now: Millis) {
    this.#res = res;
    this.#head = head;
    this.sentAt = now;
    if (head.isStream && head.hidesUsage) this.#filter = new UsageFilter();
    if (head.isStream) this.#stream = new StreamWatch();
    else this.#body = new BodyWatch();
  }

  /** Whether anything has been handed over to the client's connection. */
  get hasBegun(): boolean {
    return this.#res.headersSent;
  }

  #begin(): void {
    if (!this.#res.headersSent) this.#res.writeHead(this.#head.status, this.#head.headers as string[]);
  }

  /** False: the client does not keep up, and nothing more should be written before `drain`. */
  write(chunk: Buffer, now: Millis): boolean {
    this.#begin();
    this.#saw(chunk, now);
    const kept = this.#filter === undefined ? chunk : this.#filter.push(chunk);
    if (kept === undefined) return true;
    this.bytesOut += kept.length;
    return this.#res.write(kept);
  }

  end(last: Buffer | undefined, now: Millis): void {
    this.#begin();
    if (last !== undefined) this.#saw(last, now);
    const kept = this.#filter === undefined ? last : this.#filter.finish(last);
    if (kept === undefined) {
      this.#res.end();
      return;
    }
    this.bytesOut += kept.length;
    this.#res.end(kept);
  }

  #saw(chunk: Buffer, now: Millis): void {
    this.sentAt = now;
    this.#body?.push(chunk);
    if (this.#stream?.push(chunk) === true) this.firstTokenAt = now;
  }

  /** The client has the status line even when no byte of the body follows for long. */
  flush(): void {
    this.#begin();
    if (this.bytesOut === 0) this.#res.flushHeaders();
  }

  /** Keeps proxies between from taking a silent stream for a dead one. */
  comment(now: Millis): void {
    if (this.#stream?.isBetweenEvents !== true || this.#res.writableNeedDrain) return;
    this.sentAt = now;
    this.#res.write(COMMENT);
  }

  /**
   * The engine is gone and the client has a part of its answer. A stream ends with an error event, never with [DONE];
   * anything else ends so that no client can take it for whole.
   */
  breakOff(errorEvent: string): void {
    if (this.#stream === undefined) this.#res.destroy();
    else this.#res.end(this.#stream.isBetweenEvents ? errorEvent : `\n\n${errorEvent}`);
  }

  /** What is known of an event stream so far; undefined: it is none. */
  get stream(): Pick<StreamWatch, "events" | "usageAtStart"> | undefined {
    return this.#stream;
  }

  usage(): Usage | undefined {
    return this.#stream === undefined ? this.#body?.usage() : this.#stream.usage();
  }

  /** What an answer counts as that the engine ended by itself. */
  ending(): Ending {
    const { status } = this.#head;
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
