import { constants } from "node:fs";
import { mkdir, open, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Writes a file below a folder, with the folders that its name speaks of. */
export async function writeBelow(folder: string, name: string, content: string | Uint8Array): Promise<void> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, content, { mode: 0o600 });
}

/**
 * Packs a folder with its name into a gzipped tar of mode 0600. Fails when there is such a file already.
 *
 * @param parent where the folder is
 */
export async function packTarGz(parent: string, folder: string, file: string): Promise<void> {
  // Made by us first: the packer would give it the mode of every other file.
  await (await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)).close();
  const { create } = await import("tar");
  await create({ gzip: true, cwd: parent, file, portable: true }, [folder]);
}
