import { z } from "zod";
import { err, type Result } from "../../core/result.ts";
import type { EngineRequest, Launch } from "../engine.ts";
import { checkOpenaiProof, openaiProof, parsed, type ProofKind } from "../openai-proof.ts";

/** Answers 503 while the model loads, 200 after, and needs no key. It says nothing about whether the engine can still compute. */
export const healthRequest = (): EngineRequest => ({ method: "GET", path: "/health", body: undefined });

export const capacityRequest = (): EngineRequest => ({ method: "GET", path: "/props", body: undefined });

/** One token, one embedding or one ranking, by what the arguments make of the server. */
export function proofRequest(launch: Pick<Launch, "args" | "serves">): EngineRequest {
  return openaiProof(kindOf(launch.args), launch.serves[0]);
}

function kindOf(args: readonly string[]): ProofKind {
  const has = (...flags: readonly string[]): boolean => args.some((arg) => flags.includes(arg));
  if (has("--rerank", "--reranking")) return "ranking";
  return has("--embedding", "--embeddings") ? "embedding" : "completion";
}

export function checkProof(status: number, body: string): Result<undefined, string> {
  const proof = checkOpenaiProof(status, body);
  if (proof.ok || !/pooling type 'none'/i.test(proof.error)) return proof;
  return err(`${proof.error}; add --pooling to args, such as --pooling mean`);
}

const Props = z.object({
  total_slots: z.int().positive(),
  // Of one slot, whatever was asked for: with a fixed number of slots the engine divides the context among them.
  default_generation_settings: z.object({ n_ctx: z.int().positive() }),
});

export function readCapacity(body: string): { readonly slots: number; readonly context: number } | undefined {
  const props = Props.safeParse(parsed(body));
  if (!props.success) return undefined;
  return { slots: props.data.total_slots, context: props.data.default_generation_settings.n_ctx };
}
