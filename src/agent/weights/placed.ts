import { join } from "node:path";
import type { ModelSource } from "../../core/source.ts";
import { filesBelow, findFile } from "../../platform/found-files.ts";
import { type RemoteFile, shardsOf } from "./offer.ts";
import type { LocalFolder } from "./local-model.ts";
import { MODEL_DEPTH } from "./sources/dir.ts";
import { findSnapshot, snapshotFiles } from "./sources/hub-cache.ts";

/**
 * Where a model may lie that somebody placed by hand below one of the roots (the weights folder and `model_dirs`):
 *
 * - hf:ORG/REPO[/FILE]: ROOT/ORG/REPO/, ROOT/REPO/, ROOT/models--ORG--REPO/ as the Hub's tools lay it out, and with FILE
 *   named also ROOT/FILE without its folders. With a revision named, only the Hub's layout, because nothing else says
 *   which revision it is.
 * - https: and pypi: the file's name in ROOT.
 *
 * Empty files and links to nowhere do not count as there.
 */
export async function placedFolders(source: ModelSource, roots: readonly string[]): Promise<readonly LocalFolder[]> {
  const found = await Promise.all(roots.map((root) => inRoot(source, root)));
  return found.flat().filter(({ files }) => files.length > 0);
}

async function inRoot(source: ModelSource, root: string): Promise<readonly LocalFolder[]> {
  switch (source.kind) {
    case "hf":
      return await hubModels(source, root);
    case "https":
      return [await flat(root, source.file)];
    case "pypi":
      return [await flat(root, baseOf(source.path.replace(/@\d[^/@]*$/, "")))];
    case "file":
    case "dir":
    case "tiny":
      return [];
  }
}

async function hubModels(source: ModelSource & { kind: "hf" }, root: string): Promise<readonly LocalFolder[]> {
  const { repo, file, revision } = source;
  const snapshot = await findSnapshot(root, repo, revision ?? "main");
  const cached =
    snapshot === undefined ? [] : [{ folder: snapshot.folder, files: asOffered(await snapshotFiles(snapshot)) }];
  if (revision !== undefined) return cached;
  const folders = [join(root, repo), join(root, baseOf(repo))];
  const below = await Promise.all(
    folders.map(async (folder) => ({ folder, files: asOffered(await filesBelow(folder, MODEL_DEPTH)) })),
  );
  return [...cached, ...below, ...(file === undefined ? [] : [await flat(root, baseOf(file))])];
}

/** A file in the root itself, with its shards. */
async function flat(root: string, name: string): Promise<LocalFolder> {
  const found = await Promise.all(shardsOf(name).map((shard) => findFile(join(root, shard))));
  return { folder: root, files: asOffered(found.filter((file) => file !== undefined)) };
}

const asOffered = (files: readonly { readonly name: string; readonly bytes: number }[]): readonly RemoteFile[] =>
  files.flatMap(({ name, bytes }) => (bytes === 0 ? [] : [{ name, bytes, sha256: undefined }]));

const baseOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
