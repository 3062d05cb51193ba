import { bytes, type Millis, millis } from "../../src/core/ids.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Carried, HttpExchange } from "../../src/router/client/http-exchange.ts";
import { AnswerHeads } from "../../src/router/client/http1/answer-head.ts";
import { type ConnectionOf, Http1Connection } from "../../src/router/client/http1/connection.ts";
import { StartQueue } from "../../src/router/client/start-queue.ts";
import type { Refusal } from "../../src/router/error-body.ts";
import { Line } from "./line.ts";

export const LINE_LIMITS: ConnectionOf["limits"] = {
  headerBytes: bytes(8_192),
  headTime: millis(30_000),
  clientIdle: millis(75_000),
  uploadIdle: millis(60_000),
};

/** What a test does with a request; what it returns hears of the client's end. */
export type Take = (http: HttpExchange) => Carried | undefined;

/** A connection of the router's own reader, without a router. */
export class Http1Line {
  readonly line = new Line();
  readonly requests: HttpExchange[] = [];
  readonly malformed: { readonly refusal: Refusal; readonly detail: string }[] = [];
  readonly starts = new StartQueue(systemClock);
  isGone = false;
  readonly #connection: Http1Connection;
  #now = millis(0);

  constructor(take: Take) {
    const of: ConnectionOf = {
      limits: LINE_LIMITS,
      heads: new AnswerHeads(systemClock, 75),
      starts: this.starts,
      onRequest: (http) => {
        this.requests.push(http);
        return take(http);
      },
      onMalformed: (refusal, detail) => {
        this.malformed.push({ refusal, detail });
        return `HTTP/1.1 400 ${refusal.code}\r\n\r\n`;
      },
      onGone: () => {
        this.isGone = true;
      },
    };
    this.#connection = new Http1Connection(this.line.socket, of);
  }

  /** With a connection that is ready to be sent to. */
  static async open(take: Take): Promise<Http1Line> {
    const opened = new Http1Line(take);
    await opened.line.send("");
    return opened;
  }

  /** Time passes, and deadlines are looked at before it and behind. */
  async pass(duration: Millis): Promise<void> {
    for (const step of [0, duration]) {
      this.#now = millis(this.#now + step);
      this.#connection.onTick(this.#now);
    }
    await this.line.send("");
    await this.line.send("");
  }

  closeIfIdle(): void {
    this.#connection.closeIfIdle();
  }
}

/** Answers at once, with these pieces and no length. */
export const answering =
  (...pieces: readonly (string | Buffer)[]): Take =>
  ({ res }) => {
    res.writeHead(200, []);
    for (const piece of pieces.slice(0, -1)) res.write(piece);
    res.end(pieces.at(-1));
    return undefined;
  };

/** Answers when the body has come, and says how much that was. */
export const echoing: Take = ({ body, res }) => {
  let length = 0;
  body.on("data", (chunk) => {
    length += chunk.length;
  });
  body.on("end", () => {
    const text = String(length);
    res.writeHead(200, ["content-length", String(text.length)]);
    res.end(text);
  });
  return undefined;
};

/** Asks and answers nothing, and notes what it is told. */
export class Waiting implements Carried {
  isOpen = true;
  gone = 0;
  readonly refusals: Refusal[] = [];
  readonly take: Take = () => this;

  onClientGone(): void {
    this.gone += 1;
  }

  onRefused(refusal: Refusal): void {
    this.refusals.push(refusal);
  }
}
