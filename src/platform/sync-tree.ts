import { millis } from "../core/ids.ts";
import { syncFilesBelow } from "./folders.ts";
import { runProgram } from "./run.ts";

const TIMEOUT = millis(10 * 60_000);

/**
 * Has the disk hold everything below the folder, so that a rename after it is never there without the content. The whole
 * file system is synced where that can be asked for, since tens of thousands of small files one by one take minutes.
 */
export async function syncTree(folder: string): Promise<void> {
  const env = { PATH: "/usr/bin:/bin" };
  const outcome = await runProgram(["sync", "--file-system", folder], { env, timeout: TIMEOUT });
  if (outcome.kind === "notStarted" || outcome.code !== 0) await syncFilesBelow(folder);
}
