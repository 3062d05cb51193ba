import { dirname, join } from "node:path";
import type { ModelFacts } from "../../core/model-facts.ts";
import type { HeldModel } from "../../core/node.ts";
import { chooseFiles } from "../../engines/llamacpp/files.ts";
import { readFacts } from "../../engines/weights/read-facts.ts";
import { type FileStamp, stampOf } from "../../platform/file-start.ts";
import { filesBelow } from "../../platform/found-files.ts";
import { MODEL_DEPTH } from "./sources/dir.ts";
import { startsIn } from "./starts.ts";

interface Noted {
  readonly stamp: FileStamp;
  readonly facts: ModelFacts | undefined;
}

export interface FactsBook {
  /** The models with what their headers say. A header is read once, and again when its file has changed. */
  added(models: readonly HeldModel[]): Promise<readonly HeldModel[]>;
}

export function createFactsBook(): FactsBook {
  let noted: ReadonlyMap<string, Noted> = new Map();
  return {
    async added(models) {
      const found = await Promise.all(models.map(async (model) => ({ model, note: await noteOf(model.path, noted) })));
      // What is held no more is forgotten with it.
      noted = new Map(found.flatMap(({ model, note }) => (note === undefined ? [] : [[model.path, note] as const])));
      return found.map(({ model, note }) => (note?.facts === undefined ? model : { ...model, facts: note.facts }));
    },
  };
}

async function noteOf(path: string, noted: ReadonlyMap<string, Noted>): Promise<Noted | undefined> {
  const own = await stampOf(path);
  if (own === undefined) return undefined;
  const stamp = own.isFolder ? withConfig(own, await stampOf(join(path, "config.json"))) : own;
  const known = noted.get(path);
  const isSame = known?.stamp.bytes === stamp.bytes && known.stamp.changedAtMs === stamp.changedAtMs;
  if (known !== undefined && isSame) return known;
  return { stamp, facts: await factsAt(path, stamp) };
}

/** A file that is written over does not alter its folder. */
const withConfig = (folder: FileStamp, config: FileStamp | undefined): FileStamp => ({
  isFolder: true,
  bytes: folder.bytes + (config?.bytes ?? 0),
  changedAtMs: Math.max(folder.changedAtMs, config?.changedAtMs ?? 0),
});

async function factsAt(path: string, { isFolder }: FileStamp): Promise<ModelFacts | undefined> {
  const folder = isFolder ? path : dirname(path);
  const main = isFolder ? await mainIn(folder) : path.slice(folder.length + 1);
  const facts = await readFacts(main, startsIn(folder));
  return facts.ok ? facts.value : undefined;
}

/** Of a folder with GGUFs the one that would be loaded; "" for a folder of safetensors. */
async function mainIn(folder: string): Promise<string> {
  const choice = chooseFiles(await filesBelow(folder, MODEL_DEPTH));
  return choice.ok ? choice.value.main : "";
}
