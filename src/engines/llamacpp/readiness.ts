import { z } from "zod";
import { err, ok, type Result } from "../../core/result.ts";
import type { EngineRequest, Launch } from "../engine.ts";

/** Answers 503 while the model loads, 200 after, and needs no key. It says nothing about whether the engine can still compute. */
export const healthRequest = (): EngineRequest => ({ method: "GET", path: "/health", body: undefined });

export const capacityRequest = (): EngineRequest => ({ method: "GET", path: "/props", body: undefined });

/** One token, one embedding or one ranking, by what the arguments make of the server. */
export function proofRequest(launch: Pick<Launch, "args" | "serves">): EngineRequest {
  const model = launch.serves[0];
  const has = (...flags: readonly string[]): boolean => launch.args.some((arg) => flags.includes(arg));
  const post = (path: string, body: object): EngineRequest => ({
    method: "POST",
    path,
    body: JSON.stringify({ model, ...body }),
  });
  if (has("--rerank", "--reranking")) return post("/v1/rerank", { query: "ready", documents: ["ready"] });
  if (has("--embedding", "--embeddings")) return post("/v1/embeddings", { input: "ready" });
  return post("/v1/completions", { prompt: "ready", max_tokens: 1 });
}

/** A text may be empty: the first token can be half a character. A vector or a score that is no number is no work done. */
const Proof = z.union([
  z.object({ choices: z.array(z.object({ text: z.string() })).min(1) }),
  z.object({ data: z.array(z.object({ embedding: z.array(z.number()).min(1) })).min(1) }),
  z.object({ results: z.array(z.object({ relevance_score: z.number() })).min(1) }),
]);

const Refusal = z.object({ error: z.object({ message: z.string() }) });

export function checkProof(status: number, body: string): Result<undefined, string> {
  const answer = parsed(body);
  if (status === 200 && Proof.safeParse(answer).success) return ok(undefined);
  const refusal = Refusal.safeParse(answer);
  const said = refusal.success ? refusal.data.error.message : body.slice(0, 200);
  const hint = /pooling type 'none'/i.test(said) ? "; add --pooling to args, such as --pooling mean" : "";
  return err(`the engine answered its first request with ${String(status)}: ${said}${hint}`);
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

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
