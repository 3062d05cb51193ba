/** Edit distance with swaps of neighbours counted as one edit (optimal string alignment). */
function distance(a: string, b: string): number {
  let beforePrevious: readonly number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      const options = [
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      ];
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) options.push((beforePrevious[column - 2] ?? 0) + 1);
      current.push(Math.min(...options));
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** Words this long are compared; longer ones are no typo of anything and would cost time. */
const LONGEST = 80;

/** The known word that was probably meant: at most a third of its letters differ. A word that only continues `word` counts too. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length === 0 || word.length > LONGEST) return undefined;
  const lower = word.toLowerCase();
  let best: { readonly name: string; readonly edits: number } | undefined;
  let continued: string | undefined;
  for (const name of known) {
    if (name.length > LONGEST) continue;
    const edits = distance(lower, name.toLowerCase());
    const allowed = Math.max(1, Math.floor(Math.max(name.length, word.length) / 3));
    if (edits <= allowed && (best === undefined || edits < best.edits)) best = { name, edits };
    if (continued === undefined && word.length >= 3 && name.toLowerCase().startsWith(lower)) continued = name;
  }
  return best?.name ?? continued;
}

/** ` Did you mean "x"?`, or nothing when no known word is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` Did you mean "${meant}"?`;
}
