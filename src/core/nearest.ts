/** Edit distance with swaps of neighbours counted as one edit (optimal string alignment). */
function distance(a: string, b: string): number {
  let rows: { readonly last: readonly number[]; readonly beforeLast: readonly number[] } = {
    last: Array.from({ length: b.length + 1 }, (_, column) => column),
    beforeLast: [],
  };
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current.push(
        Math.min(
          cell(rows.last, column) + 1,
          cell(current, column - 1) + 1,
          cell(rows.last, column - 1) + (same ? 0 : 1),
          swapped ? cell(rows.beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    rows = { last: current, beforeLast: rows.last };
  }
  return cell(rows.last, b.length);
}

const cell = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;

/** Words this long are compared; longer ones are no typo of anything and would cost time. */
const LONGEST = 80;

/** The known word that was probably meant: at most a third of its letters differ, or it only continues `word`. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length === 0 || word.length > LONGEST) return undefined;
  const lower = word.toLowerCase();
  const names = [...known].filter((name) => name.length <= LONGEST);
  const near = names
    .map((name) => ({ name, edits: distance(lower, name.toLowerCase()) }))
    .filter(({ name, edits }) => edits <= Math.max(1, Math.floor(Math.max(name.length, word.length) / 3)))
    .toSorted((a, b) => a.edits - b.edits);
  const continued = word.length < 3 ? undefined : names.find((name) => name.toLowerCase().startsWith(lower));
  return near[0]?.name ?? continued;
}

/** ` Did you mean "x"?`, or nothing when no known word is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` Did you mean "${meant}"?`;
}
