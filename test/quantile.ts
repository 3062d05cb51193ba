/** A value that is there: the smallest that more than such a share of all do not exceed. NaN: there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);
