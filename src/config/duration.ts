import { type Millis, millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const;

const WORDS: Readonly<Record<string, string>> = {
  millisecond: "ms",
  msec: "ms",
  second: "s",
  sec: "s",
  minute: "m",
  min: "m",
  hour: "h",
  hr: "h",
  day: "d",
};

/** Reads `5s`, `250ms`, `1m30s`, `1.5h`, `400d`: largest unit first, each once. The error completes "KEY …". */
export function parseDuration(text: string): Result<Millis, string> {
  const factors = new Map<string, number>(UNITS);
  const order = UNITS.map(([unit]) => unit as string);
  let total = 0;
  let last = -1;
  if (!/^(\d+(\.\d+)?[a-z]+)+$/.test(text)) return err(refusal(text));
  for (const [, count = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)([a-z]+)/g)) {
    const factor = factors.get(unit);
    const place = order.indexOf(unit);
    if (factor === undefined || place <= last) return err(refusal(text));
    last = place;
    total += Number(count) * factor;
  }
  // 1.1s is 1100.0000000000002 in binary; a fraction of a millisecond that was really written is still refused.
  const rounded = Math.round(total);
  if (Math.abs(total - rounded) > 1e-6 || !Number.isSafeInteger(rounded)) return err(refusal(text));
  return ok(millis(rounded));
}

function refusal(text: string): string {
  const meant = guessDuration(text);
  return `must be a duration such as 5s, 250ms or 1m30s, but is "${text}"${meant === undefined ? "" : `; did you mean ${meant}?`}`;
}

function guessDuration(text: string): string | undefined {
  const [, count, word] = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+?)s?\s*$/.exec(text) ?? [];
  if (count === undefined || word === undefined) return /^\d+$/.test(text) ? `${text}s or ${text}ms` : undefined;
  const lower = word.toLowerCase();
  const whole = UNITS.find(([unit]) => unit === lower || unit === `${lower}s`)?.[0];
  const unit = WORDS[lower] ?? whole;
  return unit === undefined ? undefined : `${count}${unit}`;
}

/** The shortest text that {@link parseDuration} reads back to the same value. */
export function writeDuration(duration: Millis): string {
  let rest: number = duration;
  let text = "";
  for (const [unit, factor] of UNITS) {
    const count = Math.floor(rest / factor);
    if (count > 0) text += `${String(count)}${unit}`;
    rest -= count * factor;
  }
  return text === "" ? "0s" : text;
}
