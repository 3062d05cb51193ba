import { relative } from "node:path";
import type { DesiredReplica } from "../core/desired.ts";
import { readFacts } from "../engines/weights/read-facts.ts";
import { whyNotSplit } from "../engines/weights/split.ts";
import type { readStart } from "../platform/file-start.ts";
import type { Prepared } from "./node-context.ts";
import { startsIn } from "./weights/starts.ts";

/**
 * Why the engine would end at once because of how the profile cuts the model, as a sentence without its full stop; undefined:
 * it would not, or nobody knows. Asked once the weights are there, since before that their header may have been unknown.
 */
export async function whySplitFails(
  { profile: name, parallel, args, env }: Pick<DesiredReplica, "profile" | "parallel" | "args" | "env">,
  { engine, modelPath, folder }: Pick<Prepared, "engine" | "modelPath" | "folder">,
  read?: typeof readStart,
): Promise<string | undefined> {
  if (parallel === undefined || parallel.tensor * parallel.pipeline === 1) return undefined;
  if (engine.memoryRules({ args, env }).split !== "tensor") return undefined;
  const facts = await readFacts(relative(folder, modelPath), startsIn(folder, read));
  return facts.ok ? whyNotSplit({ name, parallel }, facts.value) : undefined;
}
