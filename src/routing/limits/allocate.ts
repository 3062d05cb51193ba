/** One of those who share a limit. */
export interface Sharer {
  /** In use and not to be given back at once: it keeps at least so much. */
  readonly used: number;
  /** What it would use had it all. */
  readonly wanted: number;
}

/**
 * Divides a limit, in whole numbers whose sum is never above it. Everybody keeps what it uses. When all that is wanted is
 * there, everybody has that and a part of the rest: half of the rest by what is wanted, half in equal parts, so that a
 * sharer that has been idle has something for its first request. When it is not there, nobody who wants something has
 * nothing as long as there is one for each, and what is left is divided by what is wanted. When more is used than the limit
 * allows, because it was lowered or an answer was longer than expected, everybody has less than it uses and admits nothing.
 *
 * @param turn decides who has the odd ones: not the same for every key
 */
export function allocate(limit: number, sharers: readonly Sharer[], turn = 0): readonly number[] {
  const used = sharers.map((sharer) => sharer.used);
  const all = sum(used);
  if (all >= limit)
    return all === 0 ? used : divide(limit, used, turn).map((part, at) => Math.min(part, used[at] ?? 0));
  const wanted = sharers.map((sharer) => Math.max(sharer.wanted, sharer.used));
  const rest = limit - sum(wanted);
  if (rest >= 0) {
    const byDemand = sum(wanted) === 0 ? 0 : Math.floor(rest / 2);
    const more = divide(byDemand, wanted, turn);
    const even = divide(
      rest - byDemand,
      sharers.map(() => 1),
      turn,
    );
    return wanted.map((base, at) => base + (more[at] ?? 0) + (even[at] ?? 0));
  }
  const missing = wanted.map((want, at) => want - (used[at] ?? 0));
  const first = divide(
    Math.min(limit - all, missing.filter((one) => one > 0).length),
    missing.map((one, at) => (one > 0 && used[at] === 0 ? 1 : 0)),
    turn,
  ).map((part) => Math.min(1, part));
  const left = missing.map((one, at) => one - (first[at] ?? 0));
  const more = divide(limit - all - sum(first), left, turn);
  return used.map((base, at) => base + (first[at] ?? 0) + (more[at] ?? 0));
}

/** Whole numbers in proportion to the weights; their sum is the amount, or 0 when all weights are. */
function divide(amount: number, weights: readonly number[], turn: number): readonly number[] {
  const all = sum(weights);
  if (all === 0 || amount <= 0) return weights.map(() => 0);
  const exact = weights.map((weight) => (amount * weight) / all);
  const parts = exact.map(Math.floor);
  let odd = amount - sum(parts);
  const order = exact
    .map((value, at) => ({ at, rest: value - Math.floor(value), place: (at + turn) % weights.length }))
    .filter(({ at }) => (weights[at] ?? 0) > 0)
    .toSorted((a, b) => b.rest - a.rest || a.place - b.place);
  for (const { at } of order) {
    if (odd <= 0) break;
    parts[at] = (parts[at] ?? 0) + 1;
    odd -= 1;
  }
  return parts;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
