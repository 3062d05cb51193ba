import type { EngineApi } from "../../core/engine-api.ts";
import type { Engine } from "../engine.ts";
import { llamacppAdapters } from "./adapters.ts";
import { command } from "./command.ts";
import { explainExit } from "./exit.ts";
import { chooseFiles } from "./files.ts";
import { memoryRules } from "./memory.ts";
import { capacityRequest, checkProof, healthRequest, proofRequest, readCapacity } from "./readiness.ts";
import { tinyGguf } from "./tiny-gguf.ts";
import { readDevices, readVersion } from "./version.ts";
import { work } from "./work.ts";

/**
 * Its own Responses are not among them: their events are neither numbered nor placed, which clients fall over, and the
 * format that an answer should have is not kept.
 */
const APIS: readonly EngineApi[] = [
  "chat",
  "completions",
  "embeddings",
  "rerank",
  "messages",
  "messages-count",
  "transcriptions",
  "tokenize",
  "detokenize",
  "apply-template",
  "template-settings",
  "continues-last-message",
];

/** llama.cpp's llama-server: GGUF models, on CPUs and GPUs. */
export const llamacpp: Engine = {
  name: "llama.cpp",
  program: "llama-server",
  formats: ["gguf"],
  apis: APIS,
  adapters: llamacppAdapters,
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
