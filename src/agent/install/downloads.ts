import { join } from "node:path";
import { removeIfThere } from "../../platform/files.ts";
import { listNames } from "../../platform/folders.ts";

/** Fetched files stay here, in the engine's folder, until they are unpacked: a killed download goes on where it was. */
export const DOWNLOADS = "downloads";

/** What was left of an earlier version is not going to be asked for again. Parts carry the name of their file. */
export async function dropOtherDownloads(folder: string, wanted: readonly string[]): Promise<void> {
  const downloads = join(folder, DOWNLOADS);
  for (const name of await listNames(downloads)) {
    if (!wanted.some((one) => name.includes(one))) await removeIfThere(join(downloads, name));
  }
}
