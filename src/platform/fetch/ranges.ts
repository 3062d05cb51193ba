/** Bytes from `start` up to, not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Sorted, apart from each other: two sets of equal bytes are equal. */
export type RangeSet = readonly ByteRange[];

/** The set with the range in it too. */
export function withRange(set: RangeSet, added: ByteRange): RangeSet {
  if (added.start >= added.end) return set;
  const before = set.filter((range) => range.end < added.start);
  const after = set.filter((range) => range.start > added.end);
  const touching = set.slice(before.length, set.length - after.length);
  const start = Math.min(added.start, touching[0]?.start ?? added.start);
  const end = Math.max(added.end, touching.at(-1)?.end ?? added.end);
  return [...before, { start, end }, ...after];
}

export const covered = (set: RangeSet): number => set.reduce((sum, range) => sum + range.end - range.start, 0);

/** How far the set reaches from `start` without a hole; `start` when it is not in the set. */
export function reachFrom(set: RangeSet, start: number): number {
  return set.find((range) => range.start <= start && start < range.end)?.end ?? start;
}

/** How far the set reaches from 0 without a hole. */
export const prefixOf = (set: RangeSet): number => reachFrom(set, 0);

/** The first bytes below `limit` that are in neither set, at most `size` of them; undefined when there are none. */
export function nextGap(sets: readonly RangeSet[], limit: number, size: number): ByteRange | undefined {
  const taken = sets.flat().reduce<RangeSet>(withRange, []);
  const start = prefixOf(taken);
  if (start >= limit) return undefined;
  const next = taken.find((range) => range.start > start)?.start ?? limit;
  return { start, end: Math.min(next, limit, start + size) };
}
