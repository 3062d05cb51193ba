import type { Engine } from "../engine.ts";
import { command } from "./command.ts";
import { explainExit } from "./exit.ts";
import { chooseFiles } from "./files.ts";
import { memoryRules } from "./memory.ts";
import { capacityRequest, checkProof, healthRequest, proofRequest, readCapacity } from "./readiness.ts";
import { tinyGguf } from "./tiny-gguf.ts";
import { readDevices, readVersion } from "./version.ts";
import { work } from "./work.ts";

/** llama.cpp's llama-server: GGUF models, on CPUs and GPUs. */
export const llamacpp: Engine = {
  name: "llama.cpp",
  program: "llama-server",
  formats: ["gguf"],
  memoryRules,
  chooseFiles,
  command,
  healthRequest,
  proofRequest,
  checkProof,
  capacityRequest,
  readCapacity,
  work,
  explainExit,
  trialModel: () => ({ name: "tiny.gguf", bytes: tinyGguf() }),
  readVersion,
  readDevices,
};
