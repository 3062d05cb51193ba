/** Which of how many processes of one router this is. */
export interface WorkerPart {
  /** From 0. */
  readonly index: number;
  readonly count: number;
}

export const WHOLE: WorkerPart = { index: 0, count: 1 };

/**
 * This worker's part of a replica's slots; all parts together are the whole. Who gets what is left over turns with `turn`, so
 * that it is not always the same. A part is never less than one: of an engine with fewer slots than there are workers each
 * may use one.
 */
export function partOf(slots: number, { index, count }: WorkerPart, turn: number): number {
  if (!Number.isFinite(slots)) return slots;
  const rest = slots % count;
  const isEarly = (index + turn) % count < rest;
  return Math.max(1, Math.floor(slots / count) + (isEarly ? 1 : 0));
}
