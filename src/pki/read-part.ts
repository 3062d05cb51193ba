import { err, ok, type Result } from "../core/result.ts";
import { readConfigFile } from "../platform/config-file.ts";

/** What a file says, beside its text. */
export interface Part<T> {
  readonly text: string;
  readonly value: T;
}

/** Reads and parses a file; the error is a whole clause that begins with its path. */
export async function readPart<T>(
  path: string,
  parse: (text: string) => Result<T, string> | Promise<Result<T, string>>,
): Promise<Result<Part<T>, string>> {
  const bytes = await readConfigFile(path);
  if (!bytes.ok) return bytes;
  const text = Buffer.from(bytes.value).toString("utf8");
  const read = await parse(text);
  return read.ok ? ok({ text, value: read.value }) : err(`${path} ${read.error}`);
}
