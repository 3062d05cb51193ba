import type { Socket } from "node:net";

/** Those that have something to send when this turn of the event loop ends. */
let due: Outbox[] = [];
/** Outboxes that were written to in this turn. */
let busy = 0;
/** The same of the last turns, on an average. */
let usual = 0;
/** Turns whose average it is, about. */
const TURNS = 16;
/** With fewer a turn there is nothing to put in a row, and whoever waits at the other end may as well be woken now. */
const WORTH_A_ROW = 2;

/**
 * Smaller pieces are joined with what is before them, as text: that is faster than a buffer that is made and filled for them.
 * Larger ones are not copied.
 */
export const JOIN_BYTES = 16_384;

function endTurn(): void {
  const now = due;
  due = [];
  usual += (busy - usual) / TURNS;
  busy = 0;
  for (const outbox of now) outbox.flush();
}

/**
 * What goes to a socket. Where connections are many it goes when all events at hand have been handled: whatever a turn has to
 * say to one is one write, and the writes to all follow each other. The first wakes the process at the other end, and the
 * others find it awake, which on a loaded router is a third of what a request costs.
 */
export class Outbox {
  readonly #socket: Socket;
  #isDue = false;
  /** Large pieces, with the text between them. */
  #parts: (string | Buffer)[] = [];
  /** Behind them. */
  #text = "";
  #bytes = 0;
  #drained: (() => void)[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Bytes that the system does not have yet. */
  get length(): number {
    return this.#bytes + this.#socket.writableLength;
  }

  /** Nothing more should be sent before it has drained. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain || this.#bytes >= this.#socket.writableHighWaterMark;
  }

  /** Text of one byte a character. */
  write(text: string): void {
    this.#text += text;
    this.#due(text.length);
  }

  /** Text, bytes that stay as they are until they are sent, and text again: they leave together. */
  send(before: string, pieces: readonly Buffer[], behind = ""): void {
    let bytes = before.length + behind.length;
    this.#text += before;
    for (const piece of pieces) {
      bytes += piece.length;
      if (piece.length > JOIN_BYTES) this.#push(piece);
      else this.#text += piece.toString("latin1");
    }
    this.#text += behind;
    this.#due(bytes);
  }

  #push(piece: Buffer): void {
    if (this.#text !== "") this.#parts.push(this.#text);
    this.#text = "";
    this.#parts.push(piece);
  }

  #due(bytes: number): void {
    this.#bytes += bytes;
    if (this.#isDue) return;
    busy += 1;
    if (busy === 1) setImmediate(endTurn);
    if (usual < WORTH_A_ROW) this.flush();
    else {
      this.#isDue = true;
      due.push(this);
    }
  }

  /** Sends it now. */
  flush(): void {
    this.#isDue = false;
    this.#bytes = 0;
    const text = this.#text;
    this.#text = "";
    const isOpen = this.#socket.writable;
    if (this.#parts.length > 0) this.#sendParts(text, isOpen);
    else if (text !== "" && isOpen) this.#socket.write(text, "latin1");
    if (this.#drained.length > 0) this.#tellDrained();
  }

  #sendParts(text: string, isOpen: boolean): void {
    const parts = this.#parts;
    this.#parts = [];
    if (!isOpen) return;
    this.#socket.cork();
    for (const part of parts) this.#send(part);
    if (text !== "") this.#send(text);
    this.#socket.uncork();
  }

  #send(part: string | Buffer): void {
    if (typeof part === "string") this.#socket.write(part, "latin1");
    else this.#socket.write(part);
  }

  /** Calls back when it is full no more. Not after the end of the socket. */
  onceDrained(then: () => void): void {
    this.#drained.push(then);
    if (!this.#isDue) this.#tellDrained();
  }

  #tellDrained(): void {
    const drained = this.#drained;
    this.#drained = [];
    for (const then of drained) {
      if (this.#socket.writableNeedDrain) this.#socket.once("drain", then);
      else then();
    }
  }
}
