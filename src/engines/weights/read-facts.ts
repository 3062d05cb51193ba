import type { ModelFacts } from "../../core/model-facts.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { ggufFacts } from "./gguf-facts.ts";
import { MAX_HEADER, parseGgufHeader } from "./gguf-header.ts";
import { parseModelConfig } from "./model-config.ts";

/** The first bytes of one of the model's files, at most so many; or why they cannot be had. */
export type ReadStart = (name: string, bytes: number) => Promise<Result<Uint8Array, string>>;

/** Holds the whole header of a model without a large vocabulary; one with 150,000 words has 4 to 8 MiB. */
const FIRST_READ = 256 * 1024;
/** What a header asks for is the least that could be enough, so more is read at once than that. */
const GROWTH = 4;
const CONFIG = "config.json";
const CONFIG_LIMIT = 8_000_000;

/**
 * What the model's own header says, from the first bytes of its main file: a GGUF, or of a folder of safetensors the
 * config.json beside them. `main` is the file that an engine is pointed at; "" for the folder.
 */
export async function readFacts(main: string, read: ReadStart): Promise<Result<ModelFacts, string>> {
  return /\.gguf$/i.test(main) ? await fromGguf(main, read) : await fromConfig(main, read);
}

async function fromGguf(name: string, read: ReadStart): Promise<Result<ModelFacts, string>> {
  for (let want = FIRST_READ; ;) {
    const start = await read(name, want);
    if (!start.ok) return start;
    const header = parseGgufHeader(start.value);
    if (header.ok) return ok(ggufFacts(header.value));
    if (header.error.kind === "invalid") return err(`${name}: ${header.error.message}`);
    if (start.value.length < want) return err(`${name}: the file ends within its header`);
    want = Math.min(MAX_HEADER, Math.max(header.error.bytes, want * GROWTH));
  }
}

async function fromConfig(main: string, read: ReadStart): Promise<Result<ModelFacts, string>> {
  const name = `${main.slice(0, main.lastIndexOf("/") + 1)}${CONFIG}`;
  const start = await read(name, CONFIG_LIMIT);
  if (!start.ok) return start;
  const facts = parseModelConfig(new TextDecoder().decode(start.value));
  return facts.ok ? facts : err(`${name}: ${facts.error}`);
}
