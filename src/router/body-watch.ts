import { readUsage, type Usage } from "./usage.ts";

/** Engines write the counts of an answer before its data or after them, never in the middle. */
const WINDOW_BYTES = 8_192;

/** Holds on to the beginning and the end of an answer that is not a stream, whatever its length. */
export class BodyWatch {
  /** Latin-1, as the end is. */
  #first: string | undefined;
  #end = "";

  /** `text`: all of the chunk as latin-1, where it is at hand. */
  push(chunk: Buffer, text?: string): void {
    this.#first ??= (text ?? chunk.toString("latin1", 0, WINDOW_BYTES)).slice(0, WINDOW_BYTES);
    const end = text ?? chunk.toString("latin1", Math.max(0, chunk.length - WINDOW_BYTES));
    this.#end = end.length < WINDOW_BYTES ? (this.#end + end).slice(-WINDOW_BYTES) : end;
  }

  usage(): Usage | undefined {
    return readUsage(this.#end) ?? (this.#first === undefined ? undefined : readUsage(this.#first));
  }
}
