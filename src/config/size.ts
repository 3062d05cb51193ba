import { type Bytes, bytes } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";

const UNITS = [
  ["TiB", 2 ** 40],
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
  ["TB", 1e12],
  ["GB", 1e9],
  ["MB", 1e6],
  ["KB", 1e3],
  ["B", 1],
] as const;

/** Reads `80GiB` (powers of 1024) and `500MB` (powers of 1000). The error completes "KEY …". */
export function parseSize(text: string): Result<Bytes, string> {
  const [, count, unit] = /^(\d+(?:\.\d+)?)([A-Za-z]+)$/.exec(text) ?? [];
  const factor = UNITS.find(([name]) => name === unit)?.[1];
  if (count === undefined || factor === undefined) return err(refusal(text));
  const total = Number(count) * factor;
  const rounded = Math.round(total);
  if (Math.abs(total - rounded) > 1e-3 || !Number.isSafeInteger(rounded)) return err(refusal(text));
  return ok(bytes(rounded));
}

function refusal(text: string): string {
  const meant = guessSize(text);
  return `must be a size such as 80GiB or 500MB, but is "${text}"${meant === undefined ? "" : `; did you mean ${meant}?`}`;
}

function guessSize(text: string): string | undefined {
  const [, count, word] = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*$/.exec(text) ?? [];
  if (count === undefined || word === undefined) return undefined;
  if (word === "") return `${count}GiB or ${count}B`;
  const lower = word.toLowerCase();
  const unit = UNITS.find(([name]) =>
    [name, `${name[0] ?? ""}i`, name[0]].some((form) => form?.toLowerCase() === lower),
  );
  return unit === undefined ? undefined : `${count}${unit[0]}`;
}

/** The shortest exact text in binary units, or in bytes. */
export function writeSize(size: Bytes): string {
  const unit = UNITS.find(([name, factor]) => name.endsWith("iB") && size >= factor && size % factor === 0);
  return unit === undefined ? `${String(size)}B` : `${String(size / unit[1])}${unit[0]}`;
}
