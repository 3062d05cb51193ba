import { type Piece, textOf } from "./piece.ts";
import { readUsage, type Usage } from "./usage.ts";

/** Engines write the counts of an answer before its data or after them, never in the middle. */
const WINDOW_BYTES = 8_192;

/** Holds on to the beginning and the end of an answer that is not a stream, whatever its length. */
export class BodyWatch {
  /** Latin-1, as the end is. */
  #first: string | undefined;
  #end = "";

  push(piece: Piece): void {
    this.#first ??= textOf(piece, 0, WINDOW_BYTES);
    const end = textOf(piece, -WINDOW_BYTES);
    this.#end = end.length < WINDOW_BYTES ? (this.#end + end).slice(-WINDOW_BYTES) : end;
  }

  usage(): Usage | undefined {
    return readUsage(this.#end) ?? (this.#first === undefined ? undefined : readUsage(this.#first));
  }
}
