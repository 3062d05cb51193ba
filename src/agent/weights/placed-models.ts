import { join } from "node:path";
import { bytes } from "../../core/ids.ts";
import type { HeldModel } from "../../core/node.ts";
import { filesBelow, type FoundFile, foldersIn } from "../../platform/found-files.ts";
import { shardsOf } from "./offer.ts";
import { RECORD_NAME } from "./record.ts";
import { readTextIfThere } from "../../platform/files.ts";
import { MODEL_DEPTH } from "./sources/dir.ts";

const WEIGHTS = /\.(gguf|safetensors)$/i;
const HUB_FOLDER = /^models--(.+?)--(.+)$/;

/**
 * What somebody placed by hand below a root, under the sources that a profile would name it by: ROOT/ORG/REPO/… as
 * hf:ORG/REPO and hf:ORG/REPO/FILE, the Hub's own layout likewise, ROOT/NAME/… as dir:, and files in ROOT itself as file:.
 */
export async function placedModels(root: string): Promise<readonly HeldModel[]> {
  const flat = (await filesBelow(root, 1)).filter(isWeights);
  const names = await foldersIn(root);
  const below = await Promise.all(names.map((name) => inFolder(root, name)));
  return [
    ...wholeFiles(flat).map((file) => held(`file:${join(root, file.name)}`, join(root, file.name), file)),
    ...below.flat(),
  ];
}

async function inFolder(root: string, name: string): Promise<readonly HeldModel[]> {
  const folder = join(root, name);
  // One of our own: its record knows better.
  if ((await readTextIfThere(join(folder, RECORD_NAME))) !== undefined) return [];
  const [, org, repo] = HUB_FOLDER.exec(name) ?? [];
  if (org !== undefined && repo !== undefined) return await hubSnapshots(folder, `hf:${org}/${repo}`);
  const own = (await filesBelow(folder, 1)).filter(isWeights);
  const repos = await foldersIn(folder);
  const models = await Promise.all(repos.map((inner) => inRepo(join(folder, inner), `hf:${name}/${inner}`)));
  return [...(await wholeFolder(folder, `dir:${folder}`, own)), ...models.flat()];
}

async function hubSnapshots(folder: string, source: string): Promise<readonly HeldModel[]> {
  const current = (await readTextIfThere(join(folder, "refs", "main")))?.trim();
  return current === undefined || current === "" ? [] : await inRepo(join(folder, "snapshots", current), source);
}

async function inRepo(folder: string, source: string): Promise<readonly HeldModel[]> {
  const files = (await filesBelow(folder, MODEL_DEPTH)).filter(isWeights);
  if (files.length === 0) return [];
  const single = wholeFiles(files).filter(({ name }) => name.toLowerCase().endsWith(".gguf"));
  const each = single.map((file) => held(`${source}/${file.name}`, join(folder, file.name), file));
  return [...(await wholeFolder(folder, source, files)), ...each];
}

/** Empty files are copies that were only begun. */
const isWeights = ({ name, bytes: size }: FoundFile): boolean => WEIGHTS.test(name) && size > 0;

interface WholeFile {
  readonly name: string;
  readonly size: number;
}

/** Files by themselves, and of sharded ones the first, with the size of all; a model with a missing shard is none. */
function wholeFiles(files: readonly FoundFile[]): readonly WholeFile[] {
  const sizes = new Map(files.map(({ name, bytes: size }) => [name, size]));
  return files.flatMap(({ name }) => {
    const shards = shardsOf(name);
    if (shards[0] !== name || !shards.every((shard) => sizes.has(shard))) return [];
    return [{ name, size: shards.reduce((sum, shard) => sum + (sizes.get(shard) ?? 0), 0) }];
  });
}

const held = (source: string, path: string, { size }: WholeFile): HeldModel => ({ source, path, bytes: bytes(size) });

/** The folder as one model, if no shard is missing. Each file's bytes once, whatever names it has. */
async function wholeFolder(
  folder: string,
  source: string,
  weights: readonly FoundFile[],
): Promise<readonly HeldModel[]> {
  const names = new Set(weights.map(({ name }) => name));
  const isWhole = weights.every(({ name }) => shardsOf(name).every((shard) => names.has(shard)));
  if (weights.length === 0 || !isWhole) return [];
  const sizes = new Map((await filesBelow(folder, MODEL_DEPTH)).map(({ inode, bytes: size }) => [inode, size]));
  return [{ source, path: folder, bytes: bytes([...sizes.values()].reduce((sum, size) => sum + size, 0)) }];
}
