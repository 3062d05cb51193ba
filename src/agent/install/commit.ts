import { join } from "node:path";
import type { EngineSource } from "../../core/desired.ts";
import type { EngineBuild } from "../../core/node.ts";
import { ok, type Result } from "../../core/result.ts";
import { removeIfThere } from "../../platform/files.ts";
import { syncTree } from "../../platform/sync-tree.ts";
import type { InstallContext } from "./context.ts";
import type { InstallFailure } from "./failure.ts";
import type { Proved } from "./prove.ts";
import { commitStaging, openStaging } from "./staging.ts";

/** Version "" when any will do. */
export type Wanted = EngineSource;

export type Outcome = Result<EngineBuild, InstallFailure>;

/** What is left of a staging folder is removed, however its work ends. */
export async function staged(context: InstallContext, work: (staging: string) => Promise<Outcome>): Promise<Outcome> {
  const staging = await openStaging(context.folder);
  try {
    return await work(staging);
  } finally {
    await removeIfThere(staging);
  }
}

interface Commit {
  readonly staging: string;
  readonly name: string;
  readonly wanted: Wanted;
  readonly binary: string;
  readonly hadDriver: boolean;
}

/** Makes the staging folder one of the builds of this node. */
export async function commit({ staging, name, wanted, binary, hadDriver }: Commit, proved: Proved): Promise<Outcome> {
  await syncTree(staging);
  const installed = await commitStaging(staging, name, {
    version: proved.version,
    asked: wanted.version,
    source: wanted.source,
    binary: binary.slice(join(staging, "/").length),
    hadDriver,
  });
  return ok({ ...proved, origin: "installed", path: installed.path });
}
