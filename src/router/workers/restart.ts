import { type Millis, millis } from "../../core/ids.ts";

/** A worker that has lived for so long was well: its end is no part of a row. */
const WELL: Millis = millis(10_000);
const FIRST: Millis = millis(100);
const LONGEST: Millis = millis(5_000);

/** How soon a worker is started again, and how many have ended in a row by now. The first time it is at once. */
export function afterWorkerEnd(row: number, livedFor: Millis): { readonly row: number; readonly delay: Millis } {
  const next = livedFor >= WELL ? 1 : row + 1;
  return { row: next, delay: next === 1 ? millis(0) : millis(Math.min(LONGEST, FIRST * 2 ** (next - 2))) };
}
