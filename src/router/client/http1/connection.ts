import type { Millis } from "../../../core/ids.ts";
import { Outbox } from "../../../platform/outbox.ts";
import type { Refusal } from "../../error-body.ts";
import type { RouterLimits } from "../../limits.ts";
import type { Timed } from "../../sweep.ts";
import type { Carried, ClientSocket, OnRequest } from "../http-exchange.ts";
import { LATE_HEAD, MISFRAMED, NO_REQUEST } from "../malformed.ts";
import type { StartQueue } from "../start-queue.ts";
import { type AnswerLine, SocketAnswer } from "./answer.ts";
import type { AnswerHeads } from "./answer-head.ts";
import { afterEmptyLines, readHead } from "./head-bytes.ts";
import { Http1Request, type RequestSource } from "./request.ts";
import type { RequestHead } from "./request-head.ts";

/** What a connection asks of whoever keeps it. */
export interface ConnectionOf {
  readonly limits: Pick<RouterLimits, "headerBytes" | "headTime" | "clientIdle" | "uploadIdle">;
  readonly heads: AnswerHeads;
  readonly starts: StartQueue;
  readonly onRequest: OnRequest;
  /** No request could be read. Answers the last bytes of the connection. */
  onMalformed(refusal: Refusal, detail: string): string;
  onGone(connection: Http1Connection): void;
}

/** A request and its answer. The next one is not looked at before both have ended. */
interface Turn {
  readonly request: Http1Request;
  readonly answer: SocketAnswer;
  /** Undefined as well until it has been handed over. */
  carried: Carried | undefined;
}

/** Of what a client sends ahead of its turn. More is left to its own socket. */
const MOST_WAITING = 65_536;
/** Closing on a client that still sends can throw away the answer before it is read; so it may go on for a while. */
const LINGER = 2_000;
/** Beyond what clients are told, so that none meets the close with a request on its way. */
const IDLE_SLACK = 1_000;

const NOTHING = Buffer.alloc(0);

/** A client's connection over HTTP/1.1, from its first byte to its close. */
export class Http1Connection implements RequestSource, AnswerLine, Timed {
  readonly socket: ClientSocket;
  readonly outbox: Outbox;
  readonly heads: AnswerHeads;
  readonly #of: ConnectionOf;
  #turn: Turn | undefined;
  /** What has come and nobody has taken yet. */
  #waiting: Buffer = NOTHING;
  /** Of what waits, how much is known to be no more than the part of a head. */
  #seen = 0;
  #isReading = false;
  #isPaused = false;
  /** Nothing more is read. */
  #isEnding = false;
  #hasAsked = false;
  /** Since when it is as it is. Set by the first tick that finds it so: a look at the clock for each request would cost more. */
  #since: Millis | undefined;
  /** At the last tick, what the client had not taken yet. */
  #backlog = 0;

  constructor(socket: ClientSocket, of: ConnectionOf) {
    this.socket = socket;
    this.outbox = new Outbox(socket);
    this.heads = of.heads;
    this.#of = of;
    socket.on("data", this.#onData.bind(this));
    socket.on("end", this.#onEnd.bind(this));
    // Its close tells the same.
    socket.on("error", () => undefined);
    socket.on("close", this.#onClose.bind(this));
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Closes it if nothing is being asked or answered on it. */
  closeIfIdle(): void {
    if (this.#turn === undefined && this.#waiting.length === 0 && this.outbox.length === 0) this.destroy();
  }

  #onData(bytes: Buffer): void {
    if (this.#isEnding) return;
    if (this.#waiting.length > 0) this.#read(Buffer.concat([this.#waiting, bytes]));
    else if (this.#turn !== undefined || !this.#of.starts.isHeldUp) this.#read(bytes);
    else {
      this.#waiting = bytes;
      this.#of.starts.add(this.#goOn);
    }
  }

  onFlow(): void {
    // Whoever takes it is not told in the same turn; what is being read goes on by itself.
    if (!this.#isReading) queueMicrotask(this.#goOn);
  }

  readonly #goOn = (): void => {
    if (!this.#isEnding && !this.#isReading) this.#read(this.#waiting);
  };

  #read(bytes: Buffer): void {
    this.#isReading = true;
    let at = 0;
    let next = this.#step(bytes, at);
    while (next !== undefined) {
      at = next;
      next = this.#step(bytes, at);
    }
    this.#isReading = false;
    this.#keep(bytes, at);
  }

  #keep(bytes: Buffer, from: number): void {
    if (from === bytes.length || this.#isEnding) this.#waiting = NOTHING;
    else this.#waiting = restOf(bytes, from);
    const isFull = this.#turn !== undefined && this.#waiting.length >= MOST_WAITING;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.socket.pause();
    else this.socket.resume();
  }

  /** Where the next step begins; undefined: nothing more can be done with these bytes now. */
  #step(bytes: Buffer, at: number): number | undefined {
    if (this.#isEnding) return undefined;
    const turn = this.#turn;
    if (turn === undefined) return at === bytes.length ? undefined : this.#readHead(bytes, at);
    const { request, answer } = turn;
    if (!request.readableEnded) {
      if (!request.isFlowing || (at === bytes.length && !request.complete)) return undefined;
      const end = request.read(bytes, at);
      if (end === undefined) this.#onMisframed(turn);
      return end;
    }
    if (!answer.isOver) return undefined;
    this.#endTurn();
    return at;
  }

  #readHead(bytes: Buffer, at: number): number | undefined {
    const from = afterEmptyLines(bytes, at);
    if (from > at) {
      this.#seen = 0;
      return from;
    }
    const read = readHead(bytes, { from, seen: at + this.#seen, limit: this.#of.limits.headerBytes });
    switch (read.kind) {
      case "head":
        this.#seen = 0;
        this.#begin(read.head, bytes.length - read.end);
        return read.end;
      case "more":
        if (this.#seen === 0) this.#since = undefined;
        this.#seen = bytes.length - from;
        return undefined;
      case "refused":
        this.#refuse(read.refusal, read.detail);
        return undefined;
    }
  }

  /** `here`: bytes behind the head that came with it. */
  #begin(head: RequestHead, here: number): void {
    const request = new Http1Request(head, this, here);
    const answer = new SocketAnswer(this, head);
    const turn: Turn = { request, answer, carried: undefined };
    this.#turn = turn;
    this.#hasAsked = true;
    this.#since = undefined;
    if (head.method === "CONNECT") {
      // Whoever wants a tunnel speaks no HTTP from here on.
      this.#isEnding = true;
      this.destroy();
    } else if (head.expectation === "unknown") {
      answer.writeHead(417, []);
      answer.end();
    } else {
      const waitsForContinue = head.expectation === "continue";
      turn.carried = this.#of.onRequest({
        req: request,
        body: request,
        res: answer,
        socket: undefined,
        waitsForContinue,
      });
    }
  }

  onAnswered(): void {
    const turn = this.#turn;
    if (turn === undefined) return;
    this.#since = undefined;
    if (!turn.answer.keepsAlive) {
      this.#isEnding = true;
      this.#close();
      return;
    }
    turn.request.readOver();
    if (this.#isReading) return;
    if (turn.request.readableEnded && this.#waiting.length === 0) this.#endTurn();
    // Who has written the answer is still busy with it.
    else queueMicrotask(this.#goOn);
  }

  #endTurn(): void {
    this.#turn = undefined;
    this.#since = undefined;
  }

  #refuse(refusal: Refusal, detail: string): void {
    this.#isEnding = true;
    this.#since = undefined;
    this.#end(this.#of.onMalformed(refusal, detail));
  }

  /** What was written before goes out first. */
  #end(last = ""): void {
    this.outbox.flush();
    this.socket.end(last);
  }

  #close(): void {
    this.outbox.flush();
    this.socket.destroySoon();
  }

  /** Behind an answer that has begun nothing more can be said. */
  #onMisframed({ answer, carried }: Turn): void {
    this.#isEnding = true;
    if (carried?.isOpen === true) carried.onRefused(MISFRAMED);
    else if (carried !== undefined) this.destroy();
    else if (answer.headersSent) this.#close();
    else this.#refuse(MISFRAMED, "its body is not in chunks as it says");
  }

  /** A client that closes its half, as a killed process does, has left. */
  #onEnd(): void {
    // A request that waits to be read came before the end.
    if (this.#turn === undefined) this.#goOn();
    if (this.#isEnding) return;
    this.#isEnding = true;
    const turn = this.#turn;
    if (turn === undefined) {
      if (this.#waiting.length > 0) this.#refuse(NO_REQUEST, "the connection ended within its head");
      else this.#end();
      return;
    }
    const isAnswered = turn.answer.isOver;
    turn.answer.abandon();
    if (isAnswered) this.#close();
    else if (turn.request.complete) this.#end();
    else this.destroy();
    turn.carried?.onClientGone();
  }

  #onClose(): void {
    this.#isEnding = true;
    this.#of.onGone(this);
    const turn = this.#turn;
    this.#turn = undefined;
    turn?.answer.abandon();
    turn?.carried?.onClientGone();
    turn?.request.onGone();
  }

  onTick(now: Millis): void {
    const backlog = this.outbox.length;
    if (this.#since === undefined || backlog !== this.#backlog) {
      this.#since = now;
      this.#backlog = backlog;
      return;
    }
    const patience = this.#patience();
    if (patience === undefined || now - this.#since < patience) return;
    if (this.#turn === undefined && this.#waiting.length > 0 && !this.#isEnding)
      this.#refuse(LATE_HEAD, "its head did not come in time");
    else this.destroy();
  }

  /** How long it may stay as it is, in ms; undefined: the request's exchange sees to it. */
  #patience(): number | undefined {
    const { headTime, clientIdle, uploadIdle } = this.#of.limits;
    if (this.#turn !== undefined && !this.#turn.answer.isOver) return undefined;
    if (this.#backlog > 0) return clientIdle;
    if (this.#isEnding) return LINGER;
    if (this.#turn !== undefined) return uploadIdle;
    return this.#hasAsked && this.#waiting.length === 0 ? clientIdle + IDLE_SLACK : headTime;
  }
}

/** A small rest is no reason to keep a large read; to copy a large one each time that a little of it was taken would cost more. */
function restOf(bytes: Buffer, from: number): Buffer {
  const rest = bytes.subarray(from);
  return rest.length * 2 < bytes.buffer.byteLength ? Buffer.from(rest) : rest;
}
