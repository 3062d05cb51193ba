import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new folder that only its owner can look into, gone with everything in it at the end of the block that took it. */
export interface PrivateFolder extends AsyncDisposable {
  readonly path: string;
}

/** @param parent left out: the system's folder for temporary files */
export async function privateFolder(parent = tmpdir()): Promise<PrivateFolder> {
  // mkdtemp gives mode 0700.
  const path = await mkdtemp(join(parent, ".llmgw-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
