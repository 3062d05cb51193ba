import { err, ok, type Result } from "../../core/result.ts";
import type { FileChoice, OfferedFile } from "../engine.ts";

const SHARD = /^(.+)-(\d{5})-of-(\d{5})\.safetensors$/;
/** Weights for other programs, which stand in the same folders. */
const NOT_FOR_US = /^(consolidated|optimizer|training|adapter_model)|\.(fp16|bf16|fp32)\./;
/** What makes a model of weights: its shape, its words, how a conversation is written, and code of its own. */
const COMPANION = /\.(json|jinja|model|tiktoken|txt|py)$|^(merges|vocab)/;
const NOT_A_COMPANION = /^(README|LICENSE|NOTICE|USE_POLICY|requirements)|^(trainer_state|training_args|optimizer)/i;
/** Parts of a model that turns texts into vectors: 1_Pooling, 2_Dense, and the like. */
const PART_FOLDER = /^\d+_\w+\/(config\.json|model\.safetensors|pytorch_model\.bin)$/;
const TEMPLATES_FOLDER = /^additional_chat_templates\/[^/]+\.jinja$/;
const NAMES_SHOWN = 6;

/**
 * What engines for safetensors need of a source: all shards of its one model and what stands beside them. They are pointed
 * at the folder. The error is a sentence that says what is missing.
 */
export function chooseFiles(offered: readonly OfferedFile[]): Result<FileChoice, string> {
  const names = offered.map(({ name }) => name);
  const weights = weightsIn(names);
  if (!weights.ok) return weights;
  if (!names.includes("config.json")) {
    return err("there is no config.json beside the weights, and without it their shape is not known");
  }
  const companions = names.filter(isCompanion);
  return ok({ files: [...new Set([...weights.value, ...companions])].toSorted(), main: "" });
}

/** The weights of the model at the top of the source; those in folders are copies for other programs. */
function weightsIn(names: readonly string[]): Result<readonly string[], string> {
  const all = names.filter((name) => name.endsWith(".safetensors") && !name.includes("/"));
  const candidates = all.filter((name) => !NOT_FOR_US.test(name));
  if (candidates.length === 0) return err(noModel(names, all));
  const sets = Map.groupBy(candidates, (name) => SHARD.exec(name)?.[1] ?? name);
  const whole = sets.get("model.safetensors");
  if (whole !== undefined) return ok(whole);
  const shards = sets.get("model");
  if (shards !== undefined) return complete(shards);
  const [only, ...others] = sets.values();
  if (only !== undefined && others.length === 0) return complete(only);
  return err(`several models in this source: ${listed([...sets.keys()])}; choose the files of one with files:`);
}

function complete(files: readonly string[]): Result<readonly string[], string> {
  const [first = ""] = files;
  const total = Number(SHARD.exec(first)?.[3] ?? 1);
  const missing = Array.from({ length: total }, (_, index) => index + 1).filter(
    (number) => total > 1 && !files.some((name) => Number(SHARD.exec(name)?.[2]) === number),
  );
  if (missing.length === 0) return ok(files);
  return err(
    `${first} is one of ${String(total)} shards, and ${String(total - missing.length)} of them are offered; all are needed`,
  );
}

function isCompanion(name: string): boolean {
  if (name.includes("/")) return PART_FOLDER.test(name) || TEMPLATES_FOLDER.test(name);
  return COMPANION.test(name) && !NOT_A_COMPANION.test(name);
}

function noModel(names: readonly string[], safetensors: readonly string[]): string {
  return `no safetensors model in this source: ${whyNone(names, safetensors)}`;
}

function whyNone(names: readonly string[], safetensors: readonly string[]): string {
  if (safetensors.some((name) => name.startsWith("adapter_model"))) {
    return "it holds a LoRA adapter; name the model that it was made for as source, and this one under adapters";
  }
  if (safetensors.length > 0) return `${listed(safetensors)} is for another program`;
  if (names.some((name) => /\.gguf$/i.test(name))) return "it holds GGUF, which llama.cpp loads";
  if (names.some((name) => /\.(bin|pth|pt)$/.test(name))) {
    return "its weights are pickles, which can run code when they are loaded; look for the same model as safetensors";
  }
  return `it offers ${names.length === 0 ? "no files" : listed(names)}`;
}

function listed(all: readonly string[]): string {
  const rest = all.length - NAMES_SHOWN;
  return `${all.slice(0, NAMES_SHOWN).join(", ")}${rest > 0 ? ` and ${String(rest)} more` : ""}`;
}
