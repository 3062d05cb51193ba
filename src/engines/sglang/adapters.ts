import type { AdapterCall } from "../../core/adapter.ts";
import type { EngineApi } from "../../core/engine-api.ts";
import type { AdapterRules, AskedAdapter } from "../engine.ts";
import { chooseAdapterFiles } from "../safetensors/adapter-files.ts";

/** What reads an adapter out of the model's name, or needs none to be right. */
const HEEDING: readonly EngineApi[] = [
  ...(["chat", "completions", "embeddings", "messages-count", "tokenize", "detokenize"] as const),
  ...(["template-settings", "continues-when-asked"] as const),
];

/** Adapters as SGLang has them: named behind the model's name, after a colon. A field of its own would name one as well. */
export const sglangAdapters: AdapterRules = { chooseFiles: chooseAdapterFiles, call };

function call({ serves: [served = ""], adapters, place }: AskedAdapter): AdapterCall {
  const fields = { lora_path: "null" };
  const name = place === undefined ? undefined : adapters[place];
  return name === undefined ? { fields } : { model: `${served}:${name}`, apis: HEEDING, fields };
}
