import { err, ok, type Result } from "../../core/result.ts";
import type { FileChoice, OfferedFile } from "../engine.ts";

const CONFIG = "adapter_config.json";
const WEIGHTS = "adapter_model.safetensors";

/** What engines for safetensors load of a LoRA adapter, as PEFT writes it. They are pointed at the folder. */
export function chooseAdapterFiles(offered: readonly OfferedFile[]): Result<FileChoice, string> {
  const names = offered.map(({ name }) => name);
  const missing = [CONFIG, WEIGHTS].filter((name) => !names.includes(name));
  return missing.length === 0 ? ok({ files: [CONFIG, WEIGHTS], main: "" }) : err(whyNone(names, missing));
}

function whyNone(names: readonly string[], missing: readonly string[]): string {
  if (names.some((name) => /\.gguf$/i.test(name))) return "the adapter is a GGUF, which llama.cpp loads";
  if (names.includes("adapter_model.bin")) {
    return `the adapter is a pickle, which can run code when it is loaded; look for the same one with ${WEIGHTS}`;
  }
  return `it is no LoRA adapter: there is no ${missing.join(" and no ")} at its top`;
}
