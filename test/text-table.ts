/** Columns as wide as what is in them; the first row names them. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  return lines.map((line) => line.trimEnd()).join("\n");
}
