import { join } from "node:path";
import type { HeldModel } from "../../core/node.ts";
import type { ModelSpec } from "../../core/profile.ts";
import type { ModelSource } from "../../core/source.ts";
import { foldersIn } from "../../platform/found-files.ts";
import type { RecordBook } from "./folder.ts";
import { identityOf, namedFile } from "./identity.ts";
import { type Choose, chooseFrom, offerOf } from "./offer.ts";
import { pinConflict } from "./pins.ts";
import { lookAtModel, type ReadyModel } from "./ready.ts";
import type { WeightRecord } from "./record.ts";

interface Recorded {
  readonly folder: string;
  readonly record: WeightRecord;
}

async function recordedFolders(dir: string, records: RecordBook): Promise<readonly Recorded[]> {
  const folders = (await foldersIn(dir)).map((name) => join(dir, name));
  const all = await Promise.all(
    folders.map(async (folder) => {
      const record = await records.read(folder);
      return record === undefined ? [] : [{ folder, record }];
    }),
  );
  return all.flat();
}

/** The model as an earlier fetch left it, without asking anyone outside; undefined when the disk does not have all of it. */
export async function findHeld(
  dir: string,
  records: RecordBook,
  asked: { readonly spec: ModelSpec; readonly source: ModelSource; readonly choose: Choose },
): Promise<ReadyModel | undefined> {
  const identity = identityOf(asked.source);
  for (const { folder, record } of await recordedFolders(dir, records)) {
    if (!record.identities.includes(identity)) continue;
    const ready = await lookInFolder(folder, record, asked);
    if (ready !== undefined) return ready;
  }
  return undefined;
}

async function lookInFolder(
  folder: string,
  record: WeightRecord,
  { spec, source, choose }: Parameters<typeof findHeld>[2],
): Promise<ReadyModel | undefined> {
  const choice = chooseFrom(offerOf(record.offered, namedFile(source)), spec.files, choose);
  if (!choice.ok) return undefined;
  const files = choice.value.files.flatMap((name) => record.held.find((held) => held.name === name) ?? []);
  if (files.length !== choice.value.files.length || pinConflict(spec.source, spec.sha256, files) !== undefined) {
    return undefined;
  }
  return await lookAtModel(folder, choice.value.main, files);
}

/** Every model that was made whole here and still is, as the disk says. */
export async function fetchedModels(dir: string, records: RecordBook): Promise<readonly HeldModel[]> {
  const folders = await recordedFolders(dir, records);
  const models = folders.flatMap(({ folder, record }) =>
    record.models.map(async ({ source, main, files }) => {
      const expected = files.map((name) => record.held.find((held) => held.name === name) ?? { name, bytes: 0 });
      const ready = await lookAtModel(folder, main, expected);
      return ready === undefined ? [] : [{ source, path: ready.mainPath, bytes: ready.bytes }];
    }),
  );
  return (await Promise.all(models)).flat();
}
