import { readUsage, type Usage } from "./usage.ts";

/** Engines write the counts of an answer before its data or after them, never in the middle. */
const WINDOW_BYTES = 8_192;

/** Holds on to the beginning and the end of an answer that is not a stream, whatever its length. */
export class BodyWatch {
  #first: Buffer | undefined;
  #tail: Buffer[] = [];
  #tailBytes = 0;

  push(chunk: Buffer): void {
    this.#first ??= chunk.subarray(0, WINDOW_BYTES);
    this.#tail.push(chunk);
    this.#tailBytes += chunk.length;
    while (this.#tailBytes - (this.#tail[0]?.length ?? 0) >= WINDOW_BYTES) {
      this.#tailBytes -= this.#tail.shift()?.length ?? 0;
    }
  }

  usage(): Usage | undefined {
    const [only] = this.#tail;
    const end = this.#tail.length === 1 && only !== undefined ? only : Buffer.concat(this.#tail);
    const first = this.#first;
    return countsIn(end.subarray(-WINDOW_BYTES)) ?? (first === undefined ? undefined : countsIn(first));
  }
}

const countsIn = (bytes: Buffer): Usage | undefined => readUsage(bytes.toString("latin1"));
