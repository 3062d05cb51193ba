import { constants } from "node:fs";
import { chmod, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";

/** Nobody but the owner. */
const MODE = 0o600;

/**
 * Makes the file, empty, unless it is there, and takes every right of others away. For files whose writer sets no mode of
 * its own.
 */
export async function ensurePrivateFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT, MODE);
  await file.close();
  await chmod(path, MODE);
}
