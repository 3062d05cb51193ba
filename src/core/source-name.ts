import type { ModelSource } from "./source.ts";

/** Endings that say how the weights are packed and nothing about the model: quantisation, shard, format. */
const PACKING = [
  /\.(gguf|safetensors|bin)$/,
  /-\d{5}-of-\d{5}$/,
  /[-._](i?q\d[a-z0-9_]*|bf16|f16|f32|fp16|fp8|awq|gptq|int[48])$/,
  /[-._]gguf$/,
];

/** A name for what a source holds: `hf:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf` → `qwen3-8b`. Valid as a profile's name. */
export function nameOfSource(source: ModelSource): string {
  let name = lastPart(source).toLowerCase();
  for (const packing of PACKING) name = name.replace(packing, "") || name;
  return asName(name) || "model";
}

/** The valid name that is nearest to a text; "" when nothing of it can stay. */
export function asName(text: string): string {
  const clean = text
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "");
  return clean.slice(0, LONGEST).replace(/[^a-z0-9]+$/, "");
}

/** As long as a DNS label may be, the strictest of the places where a name can end up. */
const LONGEST = 63;

function lastPart(source: ModelSource): string {
  switch (source.kind) {
    case "hf":
      return afterSlash(source.file ?? source.repo);
    case "https":
      return source.file;
    case "file":
    case "dir":
    case "pypi":
      return afterSlash(source.path);
    case "tiny":
      return "tiny";
  }
}

const afterSlash = (path: string): string => path.split("/").findLast((part) => part !== "") ?? "";
