import type { AdapterCall } from "../../core/adapter.ts";
import type { EngineApi } from "../../core/engine-api.ts";
import { err, type Result } from "../../core/result.ts";
import type { AdapterRules, AskedAdapter, FileChoice, OfferedFile } from "../engine.ts";
import { chooseFiles } from "./files.ts";

/** What reads `lora`, or needs no adapter to be right. Its Messages and its embeddings take the field and forget it. */
const HEEDING: readonly EngineApi[] = [
  ...(["chat", "completions", "messages-count", "tokenize", "detokenize", "apply-template"] as const),
  ...(["template-settings", "continues-last-message"] as const),
];

/** Adapters as llama-server has them: a GGUF each, and of all of them each request says which is in force. */
export const llamacppAdapters: AdapterRules = { chooseFiles: chooseAdapterFiles, objection, call };

function chooseAdapterFiles(offered: readonly OfferedFile[]): Result<FileChoice, string> {
  const hasGguf = offered.some(({ name }) => /\.gguf$/i.test(name));
  if (!hasGguf && offered.some(({ name }) => name.endsWith(".safetensors"))) {
    return err("the adapter is safetensors, and llama.cpp loads GGUF: convert it with convert_lora_to_gguf.py");
  }
  return chooseFiles(offered);
}

/** Its list of files is written with these two signs, and has no way to write them otherwise. */
function objection(path: string): string | undefined {
  if (!/[,:]/.test(path)) return undefined;
  return `llama.cpp cannot be told of an adapter whose path has a comma or a colon in it: ${path}`;
}

/** Each request names all of them, since whatever it leaves out is as the engine was started, or as a client has put it. */
function call({ adapters, place }: AskedAdapter): AdapterCall {
  const scales = adapters.map((_, id) => ({ id, scale: id === place ? 1 : 0 }));
  const fields = { lora: JSON.stringify(scales) };
  return place === undefined ? { fields } : { apis: HEEDING, fields };
}
