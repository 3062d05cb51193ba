import { join } from "node:path";
import { messageOf } from "../../core/errors.ts";
import type { ModelSpec } from "../../core/profile.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { readTextIfThere } from "../../platform/files.ts";
import { lasting, passing, type WeightFailure } from "./failure.ts";
import { type Choose, chooseFrom, type RemoteFile } from "./offer.ts";
import type { PinCheck } from "./pins.ts";
import { expectedFiles, lookAtModel, type ReadyModel } from "./ready.ts";

export interface LocalFolder {
  readonly folder: string;
  readonly files: readonly RemoteFile[];
}

const INDEX_ENDING = ".safetensors.index.json";

/** A model that lies on this machine already, used where it is and never changed. */
export async function useLocal(
  spec: ModelSpec,
  { folder, files }: LocalFolder,
  { choose, pins }: { readonly choose: Choose; readonly pins: PinCheck },
): Promise<Result<ReadyModel, WeightFailure>> {
  const choice = chooseFrom(files, spec.files, choose);
  if (!choice.ok) return err(lasting("choice", `${spec.source}: ${choice.error}`));
  const missing = await missingParts(folder, choice.value.files, files);
  if (missing !== undefined) return err(passing("not-found", `${spec.source}: ${missing}`));
  const ready = await lookAtModel(folder, choice.value.main, expectedFiles(choice.value, files));
  if (ready === undefined) return err(passing("not-found", `${spec.source}: a file in ${folder} is missing or empty`));
  const wrong = await pins.check(spec.source, spec.sha256, { folder, names: choice.value.files });
  return wrong === undefined ? ok(ready) : err(wrong);
}

/** A copy that was broken off has its index, but not every file that the index names. */
async function missingParts(
  folder: string,
  chosen: readonly string[],
  files: readonly RemoteFile[],
): Promise<string | undefined> {
  const there = new Set(files.map(({ name }) => name));
  for (const name of chosen.filter((one) => one.endsWith(INDEX_ENDING))) {
    const parts = readIndex((await readTextIfThere(join(folder, name))) ?? "");
    if (typeof parts === "string") return `${join(folder, name)} cannot be read: ${parts}`;
    const prefix = name.slice(0, name.lastIndexOf("/") + 1);
    const absent = parts.find((part) => !there.has(`${prefix}${part}`));
    if (absent !== undefined) return `${join(folder, name)} names ${absent}, which is not there`;
  }
  return undefined;
}

/** The files that an index of safetensors names, or why it is none. */
function readIndex(text: string): readonly string[] | string {
  try {
    const raw = JSON.parse(text) as { readonly weight_map?: Readonly<Record<string, unknown>> } | null;
    const named = Object.values(raw?.weight_map ?? {});
    return [...new Set(named.filter((name) => typeof name === "string"))];
  } catch (error) {
    return messageOf(error);
  }
}
