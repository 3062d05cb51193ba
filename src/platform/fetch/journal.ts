import { type RangeSet, withRange } from "./ranges.ts";

/**
 * Beside a part file lies its journal: a header line, then a line for every stretch of bytes that is in the file.
 *
 *   {"version":1,"part":".model.gguf.3f2a.part",…}
 *   R 0 1048576
 *   S 1
 *
 * `R start end`: these bytes were written. `S n`: the first n R lines are on the disk itself, not only in the page
 * cache, and outlast a power cut. A kill leaves at worst a torn last line, which is ignored.
 */
export interface JournalHeader {
  /** The data file's name, in the same folder. */
  readonly part: string;
  /** Without query: signatures in it change from one call to the next. */
  readonly url: string;
  /** What the bytes must hash to, as far as it was known. */
  readonly sha256: string | undefined;
  readonly size: number | undefined;
  /** Strong ETag or Last-Modified, to ask "if it is still the same". */
  readonly validator: string | undefined;
  /** The machine's boot in which the lines were written. */
  readonly boot: string;
}

export interface Journal {
  readonly header: JournalHeader;
  readonly written: RangeSet;
  /** The bytes that outlast a power cut. */
  readonly synced: RangeSet;
}

const VERSION = 1;

export const headerLine = (header: JournalHeader): string => `${JSON.stringify({ version: VERSION, ...header })}\n`;
export const rangeLine = (start: number, end: number): string => `R ${String(start)} ${String(end)}\n`;
export const syncLine = (lines: number): string => `S ${String(lines)}\n`;

/** Undefined when the text is no journal of this version. Lines that make no sense end it: nothing after is believed. */
export function parseJournal(text: string): Journal | undefined {
  const lines = text.split("\n");
  // What follows the last line end is torn or empty.
  const [first, ...rest] = lines.slice(0, -1);
  const header = first === undefined ? undefined : parseHeader(first);
  if (header === undefined) return undefined;
  let written: RangeSet = [];
  let synced: RangeSet = [];
  const ranges: { readonly start: number; readonly end: number }[] = [];
  for (const line of rest) {
    const [kind, first, second] = line.split(" ");
    const [a, b] = [Number(first), Number(second)];
    if (kind === "R" && isRange(a, b, header.size)) {
      ranges.push({ start: a, end: b });
      written = withRange(written, { start: a, end: b });
    } else if (kind === "S" && Number.isInteger(a) && a >= 0 && a <= ranges.length) {
      synced = ranges.slice(0, a).reduce<RangeSet>(withRange, []);
    } else {
      break;
    }
  }
  return { header, written, synced };
}

const isRange = (start: number, end: number, size: number | undefined): boolean =>
  Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < end && end <= (size ?? Infinity);

function parseHeader(line: string): JournalHeader | undefined {
  const raw = parseObject(line);
  if (raw?.["version"] !== VERSION) return undefined;
  const part = textOf(raw["part"]);
  const url = textOf(raw["url"]);
  const boot = textOf(raw["boot"]);
  // A name with a slash would reach outside the folder.
  if (part === undefined || url === undefined || boot === undefined || part.includes("/")) return undefined;
  const size = typeof raw["size"] === "number" ? raw["size"] : undefined;
  return { part, url, boot, size, sha256: textOf(raw["sha256"]), validator: textOf(raw["validator"]) };
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
