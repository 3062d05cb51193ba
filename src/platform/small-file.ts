import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { err, ok, type Result } from "../core/result.ts";
import { whyUnreadable } from "./config-file.ts";
import { tooOpen } from "./file-rights.ts";

/** Keys and authorities are a few KB; whatever is larger was named by mistake. */
const MOST_BYTES = 256 * 1024;

/**
 * The text of a file that somebody else named: a plain one and no large one, so that nobody waits for a pipe or fills the
 * memory from a device. With `isSecret` one that others may read is refused. The error is a whole sentence.
 */
export async function readSmallFile(
  path: string,
  { isSecret }: { readonly isSecret: boolean },
): Promise<Result<string, string>> {
  try {
    // A pipe without a writer would hold up whoever opens it.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) return err(`${path} is no plain file`);
    // Of the file that is read, whatever lies at the path a moment later.
    const mode = isSecret ? tooOpen(found) : undefined;
    if (mode !== undefined) return err(`others may read ${path} (mode ${mode}): run \`chmod 600 ${path}\``);
    if (found.size > MOST_BYTES) return err(`${path} is too large for what it should hold`);
    return ok(await file.readFile("utf8"));
  } catch (error) {
    return err(whyUnreadable(path, error));
  }
}
