/** A table as prettier writes it: columns padded to their widest cell. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map(cell));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => (row[column] ?? "").padEnd(width)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  const [first = [], ...others] = cells;
  return [line(first), rule, ...others.map(line)].join("\n");
}

/** A bar or a line break would end the cell. */
const cell = (text: string): string => text.replaceAll("|", String.raw`\|`).replaceAll(/\s*\n\s*/g, " ");
