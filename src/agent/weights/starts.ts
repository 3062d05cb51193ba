import { join } from "node:path";
import { err, ok } from "../../core/result.ts";
import type { ReadStart } from "../../engines/weights/read-facts.ts";
import { readStart } from "../../platform/file-start.ts";

/** The first bytes of the files of a folder, for whoever reads their headers. */
export const startsIn =
  (folder: string, read: typeof readStart = readStart): ReadStart =>
  async (name, bytes) => {
    const start = await read(join(folder, name), bytes);
    return start === undefined ? err(`${name} cannot be read`) : ok(start);
  };
