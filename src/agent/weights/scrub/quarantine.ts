import { join } from "node:path";
import { moveAside, removeIfThere } from "../../../platform/files.ts";
import type { RecordBook } from "../folder.ts";
import { removePieceFile } from "../peers/piece-file.ts";
import { splitKey } from "../peers/shelf.ts";
import type { RecordedModel } from "../record.ts";

/** Hidden: nothing in it is part of a model. */
const QUARANTINE = ".quarantine";

interface Place {
  readonly dir: string;
  readonly records: RecordBook;
}

/** The models that were whole with the file. */
export async function modelsWith({ dir, records }: Place, key: string): Promise<readonly RecordedModel[]> {
  const parts = splitKey(key);
  if (parts === undefined) return [];
  const models = (await records.read(join(dir, parts.folder)))?.models ?? [];
  return models.filter(({ files }) => files.includes(parts.name));
}

/** Takes a file with wrong bytes out of use: no start finds it any more, and an engine that has it open keeps it. */
export async function putAside({ dir, records }: Place, key: string): Promise<void> {
  const parts = splitKey(key);
  if (parts === undefined) return;
  const folder = join(dir, parts.folder);
  const path = join(folder, parts.name);
  // Out of the record first: a kill in between leaves a file that is fetched anew, never a wrong one that is believed.
  await records.change(folder, (record) => ({
    ...record,
    held: record.held.filter(({ name }) => name !== parts.name),
  }));
  await moveAside(path, asidePath(dir, key));
  await removePieceFile(path);
}

/** The wrong file is of no more use once the right one is here. */
export const dropAside = (dir: string, key: string): Promise<void> => removeIfThere(asidePath(dir, key));

function asidePath(dir: string, key: string): string {
  const [folder = "", ...name] = key.split("/");
  return join(dir, folder, QUARANTINE, name.join("__"));
}
