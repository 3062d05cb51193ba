import { z } from "zod";
import type { EngineRequest, Launch } from "../engine.ts";
import { openaiProof, parsed, type ProofKind } from "../openai-proof.ts";
import { optionsOf } from "../options.ts";

/** Refused while it loads, and 200 from then on as long as the process thinks itself well. Needs no key. */
export const healthRequest = (): EngineRequest => ({ method: "GET", path: "/health", body: undefined });

export const capacityRequest = (): EngineRequest => ({ method: "GET", path: "/v1/models", body: undefined });

/** A model that makes vectors or judgements has other paths, and refuses these with 404. */
const KINDS: readonly ProofKind[] = ["completion", "embedding", "ranking", "classification"];
const KINDS_OF_POOLING: readonly ProofKind[] = ["embedding", "ranking", "classification"];

type Asked = Pick<Launch, "args" | "serves">;

export const proofRequest = ({ args, serves }: Asked): EngineRequest => openaiProof(firstKind(args), serves[0]);

export const furtherProofs = ({ args, serves }: Asked): readonly EngineRequest[] =>
  kindsFor(args)
    .filter((kind) => kind !== firstKind(args))
    .map((kind) => openaiProof(kind, serves[0]));

function kindsFor(args: readonly string[]): readonly ProofKind[] {
  return optionsOf(args).value("--runner") === "pooling" ? KINDS_OF_POOLING : KINDS;
}

function firstKind(args: readonly string[]): ProofKind {
  if (optionsOf(args).value("--convert") === "classify") return "classification";
  return kindsFor(args)[0] ?? "completion";
}

/** Of the models that it lists, adapters have none of their own. */
const Models = z.object({ data: z.array(z.object({ max_model_len: z.int().positive().nullish() })) });

/**
 * What it takes at once unless it is told otherwise, on GPUs below 70 GiB; on larger ones it would take 1024. The smaller
 * number costs a queue in front of it, the larger one would cost a queue inside it that nobody can see or leave.
 */
const REQUESTS_UNSAID = 256;

export function readCapacity(
  body: string,
  launch?: Pick<Launch, "args">,
): { readonly slots: number; readonly context: number } | undefined {
  const models = Models.safeParse(parsed(body));
  const context = models.success ? models.data.data.flatMap((model) => model.max_model_len ?? [])[0] : undefined;
  if (context === undefined) return undefined;
  const slots = optionsOf(launch?.args ?? []).number("--max-num-seqs") ?? REQUESTS_UNSAID;
  return { slots, context };
}
