import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";
import { tooOpen } from "./file-rights.ts";
import { isErrno } from "./files.ts";

/** The file as it lies on disk: what its bytes mean is for the reader to find out. The error is a whole sentence. */
export async function readConfigFile(path: string): Promise<Result<Uint8Array, string>> {
  try {
    return ok(await readFile(path));
  } catch (error) {
    return err(whyUnreadable(path, error));
  }
}

/**
 * A secret that a configuration names as `file:/path`, without the line break that editors leave at the end. One that others
 * may read is refused: it is no secret.
 */
export function readSecretFile(path: string): Result<string, string> {
  try {
    const file = openSync(path, "r");
    try {
      // Of the file that is read, whatever lies at the path a moment later.
      const mode = tooOpen(fstatSync(file));
      if (mode !== undefined) return err(`others may read it (mode ${mode}): run \`chmod 600 ${path}\``);
      return ok(readFileSync(file, "utf8").replace(/\r?\n$/, ""));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return err(whyUnreadable(path, error));
  }
}

/** Why a file cannot be read, as a whole sentence. */
export function whyUnreadable(path: string, error: unknown): string {
  if (isErrno(error, "ENOENT")) return `there is no file ${path}`;
  if (isErrno(error, "EACCES", "EPERM")) return `${path} may not be read by this user`;
  if (isErrno(error, "EISDIR")) return `${path} is a folder`;
  return `${path} cannot be read: ${messageOf(error)}`;
}
