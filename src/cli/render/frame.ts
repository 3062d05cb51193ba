/**
 * The lines of a text as far as a screen has rows for them; what is left out is counted in the last one. The first lines
 * are kept: a table's header is there, and what needs attention.
 */
export function frame(text: string, rows: number): readonly string[] {
  const lines = text.replace(/\n$/, "").split("\n");
  if (lines.length <= rows) return lines;
  const kept = Math.max(0, rows - 1);
  return [...lines.slice(0, kept), `… and ${String(lines.length - kept)} more lines`];
}
