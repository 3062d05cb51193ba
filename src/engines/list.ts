import type { ModelFacts } from "../core/model-facts.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Engine, FileChoice, OfferedFile } from "./engine.ts";
import { llamacpp } from "./llamacpp/index.ts";
import { sglang } from "./sglang/index.ts";
import { vllm } from "./vllm/index.ts";

/** Every engine that can be run; `auto` takes the first that can use the files. */
export const ENGINES: readonly [Engine, ...Engine[]] = [llamacpp, vllm, sglang];

/** Undefined for a name that nothing here runs. */
export const engineOf = (name: string): Engine | undefined => ENGINES.find((engine) => engine.name === name);

/** The engine of a replica that is ready, such as "llama.cpp b11669": its version follows its name. */
export const engineRunning = (engine: string): Engine | undefined => engineOf(engine.split(" ")[0] ?? "");

/**
 * The engine that would get the model, before its files are looked at: by name, else the first that loads the format. Where
 * none does, the first of all: what it would take is the best guess there is.
 */
export function likelyEngine(requested: string, format: ModelFacts["format"] | undefined): Engine {
  const loading = ENGINES.find(({ formats }) => format === undefined || formats.includes(format));
  return (requested === "auto" ? loading : engineOf(requested)) ?? ENGINES[0];
}

export interface EngineChoice extends FileChoice {
  readonly engine: Engine;
  /** Those that would do with the same files as well, in the order of preference. */
  readonly others: readonly Engine[];
}

/** The engine for a model's files, and which of them it needs; or a sentence that says why none will do. */
export function resolveEngine(requested: string, offered: readonly OfferedFile[]): Result<EngineChoice, string> {
  const named = ENGINES.filter((engine) => requested === "auto" || engine.name === requested);
  if (named.length === 0) {
    const runnable = ENGINES.map((engine) => engine.name).join(", ");
    return err(`the engine ${requested} cannot be run here; what can is ${runnable}`);
  }
  const refusals: string[] = [];
  for (const [index, engine] of named.entries()) {
    const choice = engine.chooseFiles(offered);
    if (choice.ok) {
      const { formats } = engine;
      const others = named.slice(index + 1).filter((other) => other.formats.some((format) => formats.includes(format)));
      return ok({ engine, others, ...choice.value });
    }
    refusals.push(`${engine.name}: ${choice.error}`);
  }
  return err(refusals.join("; "));
}
