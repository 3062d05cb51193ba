import type { Chance } from "./chance.ts";

const ODD_NUMBERS = [0, -1, 1, 0.5, 255, 256, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 53, 1e308, NaN, Infinity];
const ODD_TEXTS = [
  "",
  " ",
  "\0",
  "\n",
  "a\nb",
  "../../etc/passwd",
  "__proto__",
  "constructor",
  "\ud800",
  "é",
  "𝄞",
  "\u202e",
  "%00",
  "-1",
  "1e999",
  "null",
  "{}",
  "${HOME}",
  "\u001b[2J",
];
const EDGE_BYTES = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x3a, 0x7b, 0x7d];

const oddNumber = (chance: Chance): number =>
  chance.is(0.6) ? chance.pick(ODD_NUMBERS) : chance.below(2 ** 32) - 2 ** 31;

const oddText = (chance: Chance): string =>
  chance.is(0.1) ? chance.pick(ODD_TEXTS).repeat(1 + chance.length(5_000)) : chance.pick(ODD_TEXTS);

/** One to eight small changes: bits turned, bytes set, put in, taken out, doubled, and the end cut off. */
export function mutatedBytes(chance: Chance, whole: Uint8Array): Buffer {
  let bytes: Buffer = Buffer.from(whole);
  for (let change = chance.below(8); change >= 0; change--) bytes = changedBytes(chance, bytes);
  return bytes;
}

function changedBytes(chance: Chance, bytes: Buffer): Buffer {
  const at = chance.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + chance.length(64));
  const join = (...parts: readonly Uint8Array[]): Buffer => Buffer.concat(parts);
  const before = bytes.subarray(0, at);
  const ways = [
    () => withByte(bytes, at, (byte) => byte ^ (1 << chance.below(8))),
    () => withByte(bytes, at, () => chance.pick(EDGE_BYTES)),
    () => withByte(bytes, at, () => chance.below(256)),
    () => join(before, chance.bytes(1 + chance.length(64)), bytes.subarray(at)),
    () => join(before, bytes.subarray(end)),
    () => join(bytes.subarray(0, end), bytes.subarray(at)),
    () => join(before, numberBytes(chance), bytes.subarray(Math.min(bytes.length, at + 8))),
    () => (chance.is(0.3) ? Buffer.from(before) : bytes),
  ];
  return chance.pick(ways)();
}

function withByte(bytes: Buffer, at: number, change: (byte: number) => number): Buffer {
  const changed = Buffer.from(bytes);
  if (at < changed.length) changed[at] = change(changed[at] ?? 0);
  return changed;
}

/** A length or a count, as most formats write them. */
function numberBytes(chance: Chance): Buffer {
  const made = Buffer.alloc(8);
  made.writeBigUInt64LE(BigInt(chance.pick([0, 1, 0x7fff, 0xffff, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 52])));
  return made;
}

/** One to six changes: pieces of the language put in, stretches taken out or doubled, lines swapped. */
export function mutatedText(chance: Chance, text: string, pieces: readonly string[]): string {
  let changed = text;
  for (let change = chance.below(6); change >= 0; change--) changed = changedText(chance, changed, pieces);
  return changed;
}

function changedText(chance: Chance, text: string, pieces: readonly string[]): string {
  const at = chance.below(text.length + 1);
  const end = at + 1 + chance.length(40);
  const ways = [
    () => text.slice(0, at) + chance.pick(pieces) + text.slice(at),
    () => text.slice(0, at) + chance.pick(pieces) + text.slice(end),
    () => text.slice(0, at) + text.slice(end),
    () => text.slice(0, end) + text.slice(at),
    () => text.slice(0, at) + oddText(chance) + text.slice(at),
    () => text.slice(0, at) + chance.pick(pieces).repeat(1 + chance.length(2_000)) + text.slice(at),
    () => lines(chance, text),
  ];
  return chance.pick(ways)();
}

function lines(chance: Chance, text: string): string {
  const all = text.split("\n");
  const [line = ""] = all.splice(chance.below(all.length), 1);
  all.splice(chance.below(all.length + 1), 0, chance.is(0.3) ? ` ${line}` : line);
  return all.join("\n");
}

/** The value with one or a few of its parts replaced by what does not belong there, left out, doubled or nested deep. */
export function mutatedValue(chance: Chance, value: unknown): unknown {
  let changed = value;
  for (let change = chance.below(3); change >= 0; change--) changed = changedValue(chance, changed);
  return changed;
}

function changedValue(chance: Chance, value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || chance.is(0.1)) {
    return otherValue(chance, value);
  }
  if (isList(value)) return changedList(chance, value);
  const entries: readonly (readonly [string, unknown])[] = Object.entries(value);
  if (entries.length === 0) return otherValue(chance, value);
  const [key, held] = chance.pick(entries);
  const rest = Object.fromEntries(entries.filter(([other]) => other !== key));
  if (chance.is(0.1)) return rest;
  return chance.is(0.05) ? { ...rest, [oddText(chance)]: held } : { ...value, [key]: changedValue(chance, held) };
}

const isList = (value: object): value is readonly unknown[] => Array.isArray(value);

function changedList(chance: Chance, list: readonly unknown[]): readonly unknown[] {
  if (list.length === 0) return [otherValue(chance, undefined)];
  const at = chance.below(list.length);
  const held: unknown = list[at];
  if (chance.is(0.2)) return list.toSpliced(at, 1);
  if (chance.is(0.2)) return list.toSpliced(at, 0, ...Array.from({ length: 1 + chance.length(300) }, () => held));
  return list.with(at, changedValue(chance, held));
}

/** Half of the time of the same kind. */
function otherValue(chance: Chance, value: unknown): unknown {
  if (chance.is(0.5)) {
    if (typeof value === "string") return oddText(chance);
    if (typeof value === "number") return oddNumber(chance);
    if (typeof value === "boolean") return !value;
    if (typeof value === "bigint") return chance.pick([0n, -1n, 2n ** 63n - 1n, 2n ** 64n - 1n]);
    if (value instanceof Uint8Array) return mutatedBytes(chance, value);
  }
  const ways = [
    () => null,
    () => oddNumber(chance),
    () => oddText(chance),
    () => [],
    () => ({}),
    () => [value, value],
    () => ({ value }),
    () => deep(1 + chance.length(3_000)),
  ];
  return chance.pick(ways)();
}

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}
