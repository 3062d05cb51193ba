import { parseDuration } from "../config/duration.ts";
import { LlmgwError } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import type { Io } from "./io.ts";

/** What completion may offer for an argument: the words of a list, or names that only the control plane knows. */
export type ObjectKind = "node" | "profile" | "replica" | "upstream" | "model" | "key" | "token";

export interface OptionSpec {
  /** As help shows it: "-o, --output <format>". */
  readonly flags: string;
  readonly doc: string;
  readonly choices?: readonly string[];
  readonly required?: boolean;
  /** May be given several times. */
  readonly repeatable?: boolean;
  /** What its value is a name of. */
  readonly completes?: readonly ObjectKind[];
  /** Throws InvalidArgumentError for a value that cannot be meant. */
  readonly check?: (value: string) => void;
}

export interface ArgumentSpec {
  /** As help shows it: "<name>", "[name]", "<files...>". */
  readonly form: string;
  readonly doc: string;
  readonly choices?: readonly string[];
  readonly completes?: readonly ObjectKind[];
}

interface Example {
  readonly line: string;
  readonly doc: string;
}

export interface Call {
  /** Variadic arguments are spread out. */
  readonly args: readonly string[];
  readonly flags: Flags;
  readonly io: Io;
}

/** One command of the tree. Help, parsing, completion and the reference page all come from this value. */
export interface CommandSpec {
  readonly name: string;
  readonly summary: string;
  /** Paragraphs below the summary. */
  readonly details?: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  readonly examples: readonly Example[];
  /** A group has commands and no run; its options are taken by every command below it. */
  readonly commands?: readonly CommandSpec[];
  readonly hidden?: boolean;
  /** Resolves with the exit code. */
  readonly run?: (call: Call) => Promise<number>;
}

/** "-o, --output <format>" → "output". */
export function flagName(spec: OptionSpec): string {
  const long = /--([a-z][a-z-]*)/.exec(spec.flags)?.[1];
  if (long === undefined) throw new Error(`an option needs a long name: ${spec.flags}`);
  return long;
}

/** Options as they were given, by their long names. */
export class Flags {
  readonly #values: ReadonlyMap<string, unknown>;

  constructor(values: ReadonlyMap<string, unknown>) {
    this.#values = values;
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name);
    return typeof value === "string" ? value : undefined;
  }

  /** For options that are required or were given a default by the caller. */
  textOr(name: string, fallback: string): string {
    return this.text(name) ?? fallback;
  }

  given(name: string): boolean {
    return this.#values.get(name) === true;
  }

  list(name: string): readonly string[] {
    const value = this.#values.get(name);
    return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
  }

  /** A whole number of at least `min`. */
  integer(name: string, min = 0): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = Number(value);
    if (!/^\d+$/.test(value) || !Number.isSafeInteger(number) || number < min) {
      throw new LlmgwError("BAD_REQUEST", `--${name} takes a whole number of at least ${String(min)}, not "${value}".`);
    }
    return number;
  }

  /** Such as 90s or 5m. */
  duration(name: string): Millis | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const parsed = parseDuration(value);
    if (!parsed.ok) throw new LlmgwError("BAD_REQUEST", `--${name} ${parsed.error}.`);
    return parsed.value;
  }
}
