import { join } from "node:path";
import { readTextIfThere } from "../../../platform/files.ts";
import { filesBelow, type FoundFile, findFile } from "../../../platform/found-files.ts";
import { MODEL_DEPTH } from "./dir.ts";

/** A snapshot in a cache of the Hub's own tools. It is only ever read: its links and blobs are theirs. */
export interface Snapshot {
  readonly commit: string;
  readonly folder: string;
}

const repoFolder = (cache: string, repo: string): string => join(cache, `models--${repo.replaceAll("/", "--")}`);

/** The snapshot that a branch pointed to when the tools last looked, or the one of a commit; undefined when there is none. */
export async function findSnapshot(cache: string, repo: string, revision: string): Promise<Snapshot | undefined> {
  const folder = repoFolder(cache, repo);
  const named = (await readTextIfThere(join(folder, "refs", revision)))?.trim();
  const commit = named ?? revision;
  if (!/^[0-9a-zA-Z._-]+$/.test(commit)) return undefined;
  const snapshot = join(folder, "snapshots", commit);
  return (await filesBelow(snapshot, MODEL_DEPTH)).length === 0 ? undefined : { commit, folder: snapshot };
}

/** What is really in it: links to nowhere and empty files are missing, and a size is that of the blob. */
export async function snapshotFiles(snapshot: Snapshot): Promise<readonly FoundFile[]> {
  return (await filesBelow(snapshot.folder, MODEL_DEPTH)).filter(({ bytes }) => bytes > 0);
}

/** A file of the commit, if the cache has it whole. `bytes` 0: the size is not known, and any but none will do. */
export async function cachedFile(
  cache: string,
  at: { readonly repo: string; readonly commit: string; readonly name: string; readonly bytes: number },
): Promise<string | undefined> {
  const path = join(repoFolder(cache, at.repo), "snapshots", at.commit, at.name);
  const found = await findFile(path);
  if (found === undefined || found.bytes === 0) return undefined;
  return at.bytes === 0 || found.bytes === at.bytes ? path : undefined;
}
