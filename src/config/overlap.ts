/** The places of a list where a value is that stood before; undefined values are nobody's. */
export function repeated<T>(
  values: readonly (T | undefined)[],
): readonly { readonly index: number; readonly value: T }[] {
  const seen = new Set<T>();
  return values.flatMap((value, index) => {
    if (value === undefined) return [];
    if (seen.has(value)) return [{ index, value }];
    seen.add(value);
    return [];
  });
}
