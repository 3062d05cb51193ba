import { err, ok, type Result } from "../../core/result.ts";
import type { FileChoice, OfferedFile } from "../engine.ts";

/**
 * Which quantisation is taken when a source offers several and names none: first the usual balance of size and quality, then
 * the nearest to the original that is still small, then downwards; unquantised last, since those are for converting.
 */
export const QUANTISATIONS = [
  ...["Q4_K_M", "Q8_0", "Q4_K_XL", "Q4_K_L", "Q5_K_M", "Q6_K", "Q4_K_S", "Q5_K_S", "MXFP4", "Q4_1", "Q4_0"],
  ...["IQ4_NL", "IQ4_XS", "Q5_1", "Q5_0", "Q3_K_L", "Q3_K_M", "Q3_K_S", "IQ3_M", "IQ3_S", "IQ3_XS", "IQ3_XXS"],
  ...["Q2_K", "IQ2_M", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ1_M", "IQ1_S", "BF16", "F16", "F32"],
] as const;

/** Of projectors the order is another: they are small, and half precision is what they are published for. */
const PROJECTOR_PRECISIONS = ["F16", "BF16", "Q8_0", "F32"] as const;

const SHARD = /^(.+)-(\d{5})-of-(\d{5})\.gguf$/i;
const NAMES_SHOWN = 6;

interface Model {
  /** Without the shard's number: what tells models apart. */
  readonly stem: string;
  /** In the order of the shards. */
  readonly files: readonly string[];
  readonly shards: number;
}

/** Whether the file is the part of a model that turns pictures or sound into tokens. */
export const isProjector = (name: string): boolean => /^mmproj|[-._]mmproj/i.test(name) && /\.gguf$/i.test(name);

/**
 * The one model that llama-server is to load: a single GGUF, or all shards of one with the first as main (the engine finds
 * the others beside it), with its projector if there is one. The error is a sentence that says what to name instead.
 */
export function chooseFiles(offered: readonly OfferedFile[]): Result<FileChoice, string> {
  const names = offered.map((file) => file.name);
  const ggufs = names.filter((name) => /\.gguf$/i.test(name) && !/imatrix/i.test(baseOf(name)));
  const models = modelsIn(ggufs.filter((name) => !isProjector(baseOf(name))));
  if (models.length === 0) return err(noModel(names));
  const model = preferred(models);
  if (model === undefined) return err(ambiguous(models));
  const main = model.files[0];
  if (main === undefined || model.files.length !== model.shards) return err(incomplete(model));
  const projector = bestProjector(ggufs.filter((name) => isProjector(baseOf(name))));
  return ok({ files: [...model.files, ...projector], main });
}

export const baseOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));

function modelsIn(names: readonly string[]): readonly Model[] {
  const models = new Map<string, Model>();
  for (const name of names.toSorted()) {
    const [, prefix, , total] = SHARD.exec(name) ?? [];
    const stem = prefix === undefined ? name : `${prefix} (${total ?? ""})`;
    const files = models.get(stem)?.files ?? [];
    models.set(stem, { stem, files: [...files, name], shards: total === undefined ? 1 : Number(total) });
  }
  return [...models.values()];
}

function preferred(models: readonly Model[]): Model | undefined {
  if (models.length === 1) return models[0];
  for (const quantisation of QUANTISATIONS) {
    const matching = models.filter((model) => names(model.stem, quantisation));
    if (matching.length > 0) return matching.length === 1 ? matching[0] : undefined;
  }
  return undefined;
}

/** Q4_0 is neither in IQ4_0 nor in Q4_0_4_4. */
function names(stem: string, quantisation: string): boolean {
  return new RegExp(`(?<![A-Z0-9])${quantisation}(?![A-Z0-9_])`, "i").test(stem);
}

function bestProjector(candidates: readonly string[]): readonly string[] {
  const ordered = PROJECTOR_PRECISIONS.flatMap((precision) => candidates.filter((name) => names(name, precision)));
  return [...ordered, ...candidates.toSorted()].slice(0, 1);
}

function noModel(all: readonly string[]): string {
  const why = all.some((name) => name.endsWith(".safetensors"))
    ? "it holds safetensors, which llama.cpp does not read; look for a GGUF of the same model"
    : `it offers ${all.length === 0 ? "no files" : listed(all)}`;
  return `no GGUF model in this source: ${why}`;
}

function ambiguous(models: readonly Model[]): string {
  const files = models.map((model) => model.files[0] ?? model.stem);
  return `several models in this source and none is the obvious one: ${listed(files)}; name one file in the source, or match it with files:`;
}

function incomplete(model: Model): string {
  const [first] = model.files;
  return `${first ?? model.stem} is one of ${String(model.shards)} shards, and only ${String(model.files.length)} of them are offered; all of one model are needed`;
}

function listed(all: readonly string[]): string {
  const rest = all.length - NAMES_SHOWN;
  return `${all.slice(0, NAMES_SHOWN).join(", ")}${rest > 0 ? ` and ${String(rest)} more` : ""}`;
}
