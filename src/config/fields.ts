import { z } from "zod";
import { type Bytes, type Millis, millis } from "../core/ids.ts";
import { nearest } from "../core/nearest.ts";
import { err, ok, type Result } from "../core/result.ts";
import { parseDuration, writeDuration } from "./duration.ts";
import { parseSize, writeSize } from "./size.ts";

/** What a YAML scalar can be once `null` is taken for "not set". */
export type Scalar = string | number | boolean;

/** What the walks (checking, printing, the reference page) ask of a leaf of a schema. */
export interface Field {
  /** For the reference page: "duration". */
  readonly type: string;
  /** For messages, after "must be". */
  readonly phrase: string;
  readonly takes: readonly ("string" | "number" | "boolean")[];
  readonly secret: boolean;
  /** The value as the file would spell it. */
  readonly write: (value: unknown) => unknown;
}

export const fields = z.registry<Field>();

interface LeafOptions<T> {
  readonly type: string;
  readonly phrase: string;
  readonly takes: Field["takes"];
  readonly secret?: boolean;
  readonly write?: (value: T) => unknown;
}

export type Leaf<T> = z.ZodPipe<z.ZodUnknown, z.ZodTransform<T>>;

export const show = (raw: unknown): string => (typeof raw === "string" ? `"${raw}"` : String(raw));

/** A value without keys of its own. `parse` sees only what `takes` allows; its error completes "KEY …". */
export function leaf<T>(options: LeafOptions<T>, parse: (raw: Scalar) => Result<T, string>): Leaf<T> {
  const schema = z.unknown().transform((raw, context): T => {
    const fits = options.takes.some((type) => typeof raw === type);
    const parsed = fits ? parse(raw as Scalar) : err(wrongType(options, raw));
    if (parsed.ok) return parsed.value;
    context.addIssue({ code: "custom", message: parsed.error });
    return z.NEVER;
  });
  fields.add(schema, {
    type: options.type,
    phrase: options.phrase,
    takes: options.takes,
    secret: options.secret ?? false,
    write: (value) => (options.write === undefined ? value : options.write(value as T)),
  });
  return schema;
}

function wrongType(options: Pick<Field, "phrase" | "takes">, raw: unknown): string {
  if (raw === undefined || raw === null) return "is missing";
  const wanted = `must be ${options.phrase}, but is ${show(raw)}`;
  if (options.takes.includes("string")) return `${wanted}; put it in quotes if that is what you mean`;
  return typeof raw === "string" && options.takes.some((type) => type === typeof yamlMeaning(raw))
    ? `${wanted} in quotes; leave the quotes out`
    : wanted;
}

/** What the words of older YAML and quoted numbers were probably meant to be. */
function yamlMeaning(raw: string): unknown {
  if (raw === "true" || raw === "false") return true;
  return /^-?\d+(\.\d+)?$/.test(raw) ? Number(raw) : undefined;
}

interface TextOptions {
  readonly type?: string;
  readonly phrase?: string;
  readonly allowEmpty?: boolean;
  readonly secret?: boolean;
  readonly pattern?: RegExp;
  /** Line breaks and their like are part of the text. */
  readonly manyLines?: boolean;
}

const UNPRINTABLE = /[\u0000-\u001f\u007f]/;

export function text(options: TextOptions = {}): Leaf<string> {
  const { type = "text", phrase = "a text", allowEmpty = false, secret = false, pattern, manyLines } = options;
  return leaf({ type, phrase, takes: ["string"], secret }, (raw) => {
    const value = String(raw);
    if (value === "" && allowEmpty) return ok(value);
    if (value === "") return err("is empty: give it a value or leave the key out");
    if (value.includes("\u0000")) return err("must not hold a zero character");
    const shown = secret ? "is something else" : `is ${show(value)}`;
    if (manyLines !== true && UNPRINTABLE.test(value)) return err("must not hold line breaks or control characters");
    return pattern === undefined || pattern.test(value) ? ok(value) : err(`must be ${phrase}, but ${shown}`);
  });
}

/** A value that is never shown. In a file it may stand as `file:/path`. */
export const secret = (): Leaf<string> => text({ type: "secret", phrase: "a secret or file:/path", secret: true });

/** Absolute: a relative path would mean another file after the process is started elsewhere. */
export const path = (): Leaf<string> =>
  text({ type: "path", phrase: "an absolute path such as /srv/x", pattern: /^\// });

/** Empty: the default. */
export const pathOrEmpty = (): Leaf<string> =>
  text({ type: "path", phrase: 'an absolute path such as /srv/x, or ""', pattern: /^\//, allowEmpty: true });

export const flag = (): Leaf<boolean> =>
  leaf({ type: "true or false", phrase: "true or false", takes: ["boolean"] }, (raw) => ok(raw === true));

interface Range {
  readonly min: number;
  readonly max: number;
}

export function integer({ min, max }: Range): Leaf<number> {
  const phrase = `a whole number from ${String(min)} to ${String(max)}`;
  return leaf({ type: "whole number", phrase, takes: ["number"] }, (raw) => {
    const value = Number(raw);
    const fits = Number.isSafeInteger(value) && value >= min && value <= max;
    return fits ? ok(value) : err(`must be ${phrase}, but is ${show(raw)}`);
  });
}

export function number({ min, max }: Range): Leaf<number> {
  const phrase = `a number from ${String(min)} to ${String(max)}`;
  return leaf({ type: "number", phrase, takes: ["number"] }, (raw) => {
    const value = Number(raw);
    return value >= min && value <= max ? ok(value) : err(`must be ${phrase}, but is ${show(raw)}`);
  });
}

export function oneOf<const T extends string>(words: readonly T[]): Leaf<T> {
  const list = words.join(", ");
  return leaf({ type: words.join(" or "), phrase: `one of ${list}`, takes: ["string"] }, (raw) => {
    const found = words.find((word) => word === raw);
    if (found !== undefined) return ok(found);
    const meant = nearest(String(raw), words);
    return err(`must be one of ${list}, but is ${show(raw)}${meant === undefined ? "" : `; did you mean ${meant}?`}`);
  });
}

/** Node's timers take at most 2^31-1 ms, 24.8 days; a longer one would fire at once. */
const LONGEST_TIMER = 24 * 86_400_000;

export function duration({ min = 1, max = LONGEST_TIMER }: Partial<Range> = {}): Leaf<Millis> {
  const options = {
    type: "duration",
    phrase: "a duration such as 5s, 250ms or 1m30s",
    takes: ["string", "number"] as const,
    write: writeDuration,
  };
  return leaf(options, (raw) => {
    const parsed = parseDuration(String(raw));
    if (!parsed.ok) return parsed;
    const limits = `from ${writeDuration(millis(min))} to ${writeDuration(millis(max))}`;
    const fits = parsed.value >= min && parsed.value <= max;
    return fits ? parsed : err(`must be a duration ${limits}, but is ${show(raw)}`);
  });
}

export function size(): Leaf<Bytes> {
  const options = {
    type: "size",
    phrase: "a size such as 80GiB or 500MB",
    takes: ["string", "number"] as const,
    write: writeSize,
  };
  return leaf(options, (raw) => {
    const parsed = parseSize(String(raw));
    return parsed.ok && parsed.value < 1 ? err("must be more than nothing") : parsed;
  });
}

/** Every setting has a sentence; `fallback` says in words what holds when a default cannot be written down. */
export function setting<S extends z.ZodType>(schema: S, description: string, fallback?: string): S {
  return schema.meta(fallback === undefined ? { description } : { description, fallback });
}
