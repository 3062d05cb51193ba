import { type FileHandle, open, readFile, rm } from "node:fs/promises";
import { isErrno } from "./files.ts";

/** A file of this process alone, to which lines are added. For this user's eyes only. */
export class AppendFile {
  readonly path: string;
  readonly #file: FileHandle;
  #size = 0;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Makes the file. Fails when it is there. */
  static async create(path: string): Promise<AppendFile> {
    return new AppendFile(path, await open(path, "ax", 0o600));
  }

  /** Bytes that were added. */
  get size(): number {
    return this.#size;
  }

  /** Resolves when they survive a kill and a power cut. One at a time. */
  async append(lines: Buffer): Promise<void> {
    await this.#file.appendFile(lines);
    await this.#file.datasync();
    this.#size += lines.length;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** The lines of a file that is added to, and whether the last one is cut off; undefined when there is no file. */
export async function readAppended(
  path: string,
): Promise<{ readonly lines: readonly string[]; readonly torn: boolean } | undefined> {
  try {
    const lines = (await readFile(path, "utf8")).split("\n");
    const rest = lines.pop() ?? "";
    return { lines, torn: rest !== "" };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

export const removeFile = (path: string): Promise<void> => rm(path, { force: true });
