import { constants } from "node:fs";
import { open, readdir, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";

/** The kernel's attribute files are at most a page long. */
const PAGE = 4096;

/** What is in the folder, links to folders included, sorted as people count: mlx5_2 before mlx5_10. The error is in words. */
export async function listEntries(folder: string): Promise<Result<readonly string[], string>> {
  try {
    const names = await readdir(folder);
    return ok(names.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true })));
  } catch (error) {
    return err(messageOf(error));
  }
}

/**
 * The first page of a file, trimmed; undefined when it is not there or not to be read. Never waits for a writer, so that a
 * pipe in a file's place holds nobody up.
 */
export async function readAttribute(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(PAGE), 0, PAGE, null);
      return buffer.toString("utf8", 0, bytesRead).replaceAll("\0", "").trim();
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/** The last name in where a link leads, such as a PCI address behind `device`; undefined for what is no link. */
export async function linkedName(path: string): Promise<string | undefined> {
  return readlink(path).then(
    (target) => basename(target),
    () => undefined,
  );
}
