import { z } from "zod";
import { err, ok, type Result } from "../core/result.ts";
import type { EngineRequest } from "./engine.ts";

/** The kinds of work that an engine with OpenAI's API can be asked for, each as small as it can be. */
export type ProofKind = "completion" | "embedding" | "ranking" | "classification";

export function openaiProof(kind: ProofKind, model: string | undefined): EngineRequest {
  switch (kind) {
    case "completion":
      return post("/v1/completions", { model, prompt: "ready", max_tokens: 1 });
    case "embedding":
      return post("/v1/embeddings", { model, input: "ready" });
    case "ranking":
      return post("/v1/rerank", { model, query: "ready", documents: ["ready"] });
    case "classification":
      return post("/classify", { model, input: "ready" });
  }
}

const post = (path: string, body: object): EngineRequest => ({ method: "POST", path, body: JSON.stringify(body) });

const Ranked = z.array(z.union([z.object({ relevance_score: z.number() }), z.object({ score: z.number() })])).min(1);

/** A text may be empty: the first token can be half a character. A vector or a score that is no number is no work done. */
const Proof = z.union([
  z.object({ choices: z.array(z.object({ text: z.string() })).min(1) }),
  z.object({ data: z.array(z.object({ embedding: z.array(z.number()).min(1) })).min(1) }),
  z.object({ data: z.array(z.object({ probs: z.array(z.number()).min(1) })).min(1) }),
  z.object({ results: Ranked }),
  Ranked,
]);

const Refusal = z.union([
  z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => error.message),
  z.object({ message: z.string() }).transform(({ message }) => message),
]);

/** Whether the answer is a piece of work done; otherwise what the engine said in its place. */
export function checkOpenaiProof(status: number, body: string): Result<undefined, string> {
  const answer = parsed(body);
  if (status === 200 && Proof.safeParse(answer).success) return ok(undefined);
  const refusal = Refusal.safeParse(answer);
  const said = refusal.success ? refusal.data : body.slice(0, 200);
  return err(`the engine answered its first request with ${String(status)}: ${said}`);
}

export function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
