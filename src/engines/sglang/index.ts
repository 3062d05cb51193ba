import type { EngineApi } from "../../core/engine-api.ts";
import type { Engine } from "../engine.ts";
import { SAFETENSORS_ENGINE } from "../safetensors/engine.ts";
import { memoryRules } from "../safetensors/memory.ts";
import { sglangAdapters } from "./adapters.ts";
import { command } from "./command.ts";
import { explainExit } from "./exit.ts";
import { MEMORY_OPTIONS } from "./memory.ts";
import { capacityRequest, furtherProofs, healthRequest, proofRequest, readCapacity } from "./readiness.ts";
import { readVersion, VERSION_ARGS, withoutTls } from "./version.ts";
import { work } from "./work.ts";

/** Of these a model has those that are its work. */
const APIS: readonly EngineApi[] = [
  ...(["chat", "completions", "embeddings", "rerank", "responses", "messages", "messages-count"] as const),
  ...(["tokenize", "detokenize", "template-settings", "continues-when-asked"] as const),
];

/** SGLang: safetensors on GPUs, of one node or several. Its program is the Python that it is installed in. */
export const sglang: Engine = {
  ...SAFETENSORS_ENGINE,
  name: "sglang",
  program: "sglang",
  apis: APIS,
  adapters: sglangAdapters,
  python: {
    name: "sglang",
    requiresPython: ">=3.10,<3.14",
    program: "python",
    // Loads what it is made of, torch and the kernels among them, to list what it understands.
    selfTest: ["-m", "sglang.launch_server", "--help"],
    // The project keeps its kernels for an older CUDA there; those on PyPI are for the newest.
    buildsFor: (_version, backend) => `https://docs.sglang.ai/whl/${backend}`,
  },
  probes: { version: VERSION_ARGS },
  withoutTls,
  memoryRules: (asked) => memoryRules(asked, MEMORY_OPTIONS),
  command,
  healthRequest,
  proofRequest,
  furtherProofs,
  capacityRequest,
  readCapacity,
  work,
  explainExit,
  readVersion,
};
