import { type Colours } from "../io.ts";
import { cut, displayWidth, oneLine } from "./text.ts";

export interface Column<T> {
  readonly header: string;
  readonly cell: (row: T) => string;
  readonly right?: boolean;
  /** Shown only with `-o wide`. */
  readonly wide?: boolean;
  /** Changes with time alone, such as an age: no news for --watch. */
  readonly ticks?: boolean;
  readonly colour?: (row: T) => ((text: string) => string) | undefined;
}

export interface TableLook {
  /** Undefined: lines are as long as they come. */
  readonly width: number | undefined;
  readonly colours: Colours;
  readonly wide?: boolean;
}

const GAP = 2;

/** What a row says, without what changes by itself: two rows with the same text are no news. */
export const rowKey = <T>(columns: readonly Column<T>[], row: T): string =>
  columns.flatMap((column) => (column.ticks === true ? [] : [oneLine(column.cell(row))])).join("\u0000");

/** No borders and one line a row, so that grep, cut and awk work; on a terminal every line is cut to its width. */
export function table<T>(columns: readonly Column<T>[], rows: readonly T[], look: TableLook): string {
  const shown = columns.filter((column) => look.wide === true || column.wide !== true);
  const cells = rows.map((row) => shown.map((column) => oneLine(column.cell(row)) || "-"));
  const widths = shown.map((column, at) =>
    Math.max(displayWidth(column.header), ...cells.map((line) => displayWidth(line[at] ?? ""))),
  );
  const headers = shown.map((column) => column.header);
  const head = joinCells(headers, { columns: shown, widths, width: look.width, paint: () => look.colours.bold });
  const body = rows.map((row, at) =>
    joinCells(cells[at] ?? [], { columns: shown, widths, width: look.width, paint: (column) => column.colour?.(row) }),
  );
  return [head, ...body].map((line) => `${line}\n`).join("");
}

interface LineLook<T> {
  readonly columns: readonly Column<T>[];
  readonly widths: readonly number[];
  readonly width: number | undefined;
  readonly paint: (column: Column<T>) => ((text: string) => string) | undefined;
}

/** Colours go on after the cutting: an escape sequence cut in half would colour the rest of the terminal. */
function joinCells<T>(cells: readonly string[], look: LineLook<T>): string {
  let left = look.width ?? Number.POSITIVE_INFINITY;
  let line = "";
  for (const [at, column] of look.columns.entries()) {
    const gap = at === 0 ? 0 : GAP;
    if (left <= gap) break;
    const text = cells[at] ?? "";
    const padding = " ".repeat(Math.max(0, (look.widths[at] ?? 0) - displayWidth(text)));
    const isLast = at === look.columns.length - 1;
    const padded = column.right === true ? padding + text : isLast ? text : text + padding;
    const fitted = cut(padded, left - gap);
    const paint = look.paint(column);
    line += " ".repeat(gap) + (paint === undefined ? fitted : paint(fitted));
    left -= gap + displayWidth(fitted);
  }
  return line;
}
