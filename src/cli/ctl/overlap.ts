/**
 * What is new in a batch of lines that was asked for again after a break: the batch without the longest beginning that
 * repeats the end of what was already printed.
 */
export function newLines(printed: readonly string[], batch: readonly string[]): readonly string[] {
  for (let end = batch.length; end > 0; end -= 1) {
    if (repeats(printed, batch.slice(0, end))) return batch.slice(end);
  }
  return batch;
}

/** Whether the lines are the last of what was printed; of a batch longer than our memory its own end must match. */
function repeats(printed: readonly string[], lines: readonly string[]): boolean {
  const length = Math.min(printed.length, lines.length);
  if (length === 0) return false;
  const [a, b] = [printed.slice(-length), lines.slice(-length)];
  return a.every((line, at) => line === b[at]);
}
