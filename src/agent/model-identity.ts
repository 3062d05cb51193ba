import { join, relative } from "node:path";
import { fingerprint } from "../core/fingerprint.ts";
import type { RankPreparation } from "../core/gang.ts";
import { readTextIfThere } from "../platform/files.ts";
import { findFile } from "../platform/found-files.ts";
import { parseRecord, RECORD_NAME } from "./weights/record.ts";
import type { Prepared } from "./node-context.ts";

/** What two nodes compare to know that they hold the same revision of a model. */
export async function identifyModel({
  modelPath,
  files,
  folder,
}: Pick<Prepared, "modelPath" | "files" | "folder">): Promise<Pick<RankPreparation, "weights" | "digest">> {
  const found = await Promise.all(
    [...new Set([modelPath, ...files])].map(async (path) => {
      const file = await findFile(path);
      return file === undefined ? [] : [{ name: relative(folder, path), bytes: file.bytes }];
    }),
  );
  const named = found.flat().toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { weights: fingerprint(named), digest: await digestOf(folder, named) };
}

/** From the record of what was fetched and checked; "" unless it has every file as it is now. */
async function digestOf(
  folder: string,
  named: readonly { readonly name: string; readonly bytes: number }[],
): Promise<string> {
  const text = await readTextIfThere(join(folder, RECORD_NAME));
  const held = text === undefined ? [] : (parseRecord(text)?.held ?? []);
  const digests = named.map(
    ({ name, bytes }) => held.find((file) => file.name === name && file.bytes === bytes)?.sha256,
  );
  return digests.length === 0 || digests.includes(undefined) ? "" : fingerprint(digests);
}
