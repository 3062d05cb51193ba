import { join } from "node:path";
import { readTextIfThere, writeFileAtomic } from "../../platform/files.ts";
import { emptyRecord, formatRecord, parseRecord, RECORD_NAME, type WeightRecord } from "./record.ts";

/** Reads and changes the records of weight folders; changes of one folder come one after the other. */
export interface RecordBook {
  read(folder: string): Promise<WeightRecord | undefined>;
  change(folder: string, change: (record: WeightRecord) => WeightRecord): Promise<void>;
}

export function createRecordBook(): RecordBook {
  const tails = new Map<string, Promise<void>>();
  const read = async (folder: string): Promise<WeightRecord | undefined> => {
    const text = await readTextIfThere(join(folder, RECORD_NAME));
    return text === undefined ? undefined : parseRecord(text);
  };
  return {
    read,
    change(folder, change) {
      const before = tails.get(folder) ?? Promise.resolve();
      const next = before
        .catch(() => undefined)
        .then(async () => {
          const record = change((await read(folder)) ?? emptyRecord);
          await writeFileAtomic(join(folder, RECORD_NAME), formatRecord(record));
        });
      tails.set(folder, next);
      return next;
    },
  };
}
