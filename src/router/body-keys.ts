import { SPAN_KEYS } from "./body-spans.ts";

/** Of stream_options; all others are of the outermost object. */
export const INCLUDE_USAGE = "include_usage";

const SPACE = 0x20;
const BACKSLASH = 0x5c;

/** Keys that matter, by their length. */
const KEYS = ["model", "stream", "stream_options", INCLUDE_USAGE, ...SPAN_KEYS].reduce<string[][]>((byLength, key) => {
  (byLength[key.length] ??= []).push(key);
  return byLength;
}, []);

/** Whether what stands under a key is looked at. */
export const matters = (key: string): boolean => KEYS[key.length]?.includes(key) === true;

/**
 * The key between two places if it matters, "" if not; undefined: an escape or a control character is in it, and it must be
 * looked at as text. To make a text of each key would cost a third of a short body's scan.
 */
export function plainKey(bytes: Buffer, from: number, end: number): string | undefined {
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < SPACE || byte === BACKSLASH) return undefined;
  }
  return KEYS[end - from]?.find((key) => isAt(bytes, from, key)) ?? "";
}

function isAt(bytes: Buffer, from: number, text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (bytes[from + at] !== text.charCodeAt(at)) return false;
  return true;
}
