import { err, ok, type Result } from "../core/result.ts";
import type { Field } from "./fields.ts";
import { type Environment, substitute } from "./substitute.ts";

/** The little of the world that a value may point to. */
export interface Surroundings {
  /** Undefined: `${NAME}` is left as it stands. */
  readonly env: Environment | undefined;
  /** Undefined: `file:/path` is left as it stands. */
  readonly readSecret: ((path: string) => Result<string, string>) | undefined;
}

/** The value behind variables and secret files. Each error completes "KEY …". */
export function resolve(
  written: unknown,
  field: Field | undefined,
  { env, readSecret }: Surroundings,
): Result<unknown, readonly string[]> {
  if (typeof written !== "string") return ok(written);
  const filled = env === undefined || !written.includes("${") ? ok(written) : substitute(written, env);
  if (!filled.ok) return filled;
  const text = filled.value;
  if (field?.secret === true && text.startsWith("file:") && readSecret !== undefined) return readFile(text, readSecret);
  return ok(text === written ? text : asTyped(text, field));
}

function readFile(
  reference: string,
  readSecret: (path: string) => Result<string, string>,
): Result<string, readonly string[]> {
  const path = reference.slice("file:".length);
  if (!path.startsWith("/")) return err([`must name a file by its absolute path, but is "${reference}"`]);
  const read = readSecret(path);
  if (!read.ok) return err([`cannot be read from ${path}: ${read.error}`]);
  const secret = read.value.trim();
  return secret === "" ? err([`is empty: ${path} holds nothing`]) : ok(secret);
}

/** A variable is always a text; where a number or a truth value belongs, it is read as one. */
function asTyped(text: string, field: Field | undefined): unknown {
  if (field === undefined || field.takes.includes("string")) return text;
  if (field.takes.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return field.takes.includes("number") && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
