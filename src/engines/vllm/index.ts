import type { EngineApi } from "../../core/engine-api.ts";
import type { Engine } from "../engine.ts";
import { chooseAdapterFiles } from "../safetensors/adapter-files.ts";
import { SAFETENSORS_ENGINE } from "../safetensors/engine.ts";
import { memoryRules } from "../safetensors/memory.ts";
import { command } from "./command.ts";
import { explainExit } from "./exit.ts";
import { MEMORY_OPTIONS } from "./memory.ts";
import { capacityRequest, furtherProofs, healthRequest, proofRequest, readCapacity } from "./readiness.ts";
import { readVersion } from "./version.ts";
import { work } from "./work.ts";

/** Of these a model has those that are its work. */
const APIS: readonly EngineApi[] = [
  ...(["chat", "completions", "embeddings", "rerank", "responses", "messages", "messages-count"] as const),
  ...(["transcriptions", "translations", "tokenize", "detokenize", "tokenize-chat"] as const),
  ...(["template-settings", "continues-when-asked"] as const),
];

/** vLLM: safetensors on GPUs, of one node or several. */
export const vllm: Engine = {
  ...SAFETENSORS_ENGINE,
  name: "vllm",
  program: "vllm",
  apis: APIS,
  // It lists an adapter as a model of its own.
  adapters: { chooseFiles: chooseAdapterFiles, call: () => undefined },
  python: {
    name: "vllm",
    requiresPython: ">=3.10,<3.14",
    program: "vllm",
    // Loads every part of it, torch and the kernels among them, to list what it understands.
    selfTest: ["serve", "--help"],
    // The project keeps builds of a release for other CUDAs than PyPI's there, since 0.12. Its guide for users names such
    // addresses for commits alone; that they are for versions too is in its docs/contributing/ci/nightly_builds.md.
    buildsFor: (version, backend) => `https://wheels.vllm.ai/${version}/${backend}`,
  },
  probes: { version: ["--version"] },
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
