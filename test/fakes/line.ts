import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";

/** One end of a client's connection of which the test is the other. It stands in for a socket, and no time passes on the way. */
export class Line extends Duplex {
  /** One for each write. */
  readonly writes: string[] = [];
  /** Nothing is taken of what is written. */
  isHeld = false;
  #held: (() => void)[] = [];

  constructor() {
    super({ allowHalfOpen: true, highWaterMark: 16_384 });
  }

  get socket(): Socket {
    return this as unknown as Socket;
  }

  override _read(): void {
    return;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#take([chunk], done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#take(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  #take(chunks: readonly Buffer[], done: () => void): void {
    this.writes.push(Buffer.concat(chunks).toString("latin1"));
    if (this.isHeld) this.#held.push(done);
    else done();
  }

  /** What was held is taken after all. */
  letGo(): void {
    this.isHeld = false;
    for (const done of this.#held.splice(0)) done();
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }

  get written(): string {
    return this.writes.join("");
  }

  /** The client sends this, as one read. */
  async send(bytes: string | Buffer): Promise<void> {
    // Whoever decodes in place must not change what others are given.
    if (bytes.length > 0 && !this.destroyed)
      this.push(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : Buffer.from(bytes));
    await nextTurn();
  }

  /** The client sends no more. */
  async finish(): Promise<void> {
    if (!this.destroyed) this.push(null);
    await nextTurn();
    await nextTurn();
  }
}
