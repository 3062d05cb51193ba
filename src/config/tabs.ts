import type { Found } from "./tree.ts";

const INDENT = /^[\s-]*/;

/** What stands before the first word of a line. */
export const indentOf = (line: string): string => INDENT.exec(line)?.[0] ?? "";

export const tabProblem = (line: number, column: number): Found => ({
  at: { line, column },
  path: [],
  message: "this line is indented with a tab",
  hint: "use spaces: YAML takes no tabs there",
});

/** Each width is tried: how many spaces a tab stands for depends on the editor. */
export const TAB_WIDTHS = [2, 4, 8, 1, 0] as const;

/** The tabs in the indentation of the lines (counted from 1) become spaces. */
export function withoutTabs(text: string, lines: ReadonlySet<number>, width: number): string {
  const spaces = " ".repeat(width);
  const repaired = (line: string): string => line.replace(INDENT, (indent) => indent.replaceAll("\t", spaces));
  return text
    .split("\n")
    .map((line, index) => (lines.has(index + 1) ? repaired(line) : line))
    .join("\n");
}

/** The lines (counted from 1) become empty, and with each what is indented below it. */
export function withoutBlocks(text: string, lines: ReadonlySet<number>): string {
  let below: number | undefined;
  const kept = text.split("\n").map((line, index) => {
    const depth = indentOf(line).length;
    const blank = line.trim() === "";
    if (lines.has(index + 1)) {
      below = below === undefined ? depth : Math.min(below, depth);
      return "";
    }
    if (below !== undefined && !blank && depth <= below) below = undefined;
    return below === undefined ? line : "";
  });
  return kept.join("\n");
}
