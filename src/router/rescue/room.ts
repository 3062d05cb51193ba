import { type Bytes, bytes } from "../../core/ids.ts";

/** What a process keeps for rescues altogether: some ten thousand streams over short prompts, or sixty over the longest. */
const RESCUE_ROOM: Bytes = bytes(256 * 1024 * 1024);

/** How much may still be kept for rescues. A stream for which there is no room goes on as if there were none. */
export class RescueRoom {
  #left: number;

  constructor(size: Bytes = RESCUE_ROOM) {
    this.#left = size;
  }

  /** False: there is not so much left, and nothing was taken. */
  take(amount: number): boolean {
    if (amount > this.#left) return false;
    this.#left -= amount;
    return true;
  }

  give(amount: number): void {
    this.#left += amount;
  }
}
