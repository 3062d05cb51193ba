import { z } from "zod";
import type { EngineRequest, Launch } from "../engine.ts";
import { openaiProof, parsed } from "../openai-proof.ts";
import { optionsOf } from "../options.ts";

/** 503 until its own first request came back, 200 from then on. Needs no key. */
export const healthRequest = (): EngineRequest => ({ method: "GET", path: "/health", body: undefined });

/** Needs the key, and answers with it, among all other settings: the body goes no further than to `readCapacity`. */
export const capacityRequest = (): EngineRequest => ({ method: "GET", path: "/server_info", body: undefined });

type Asked = Pick<Launch, "args" | "serves">;

export const proofRequest = ({ args, serves }: Asked): EngineRequest =>
  openaiProof(optionsOf(args).has("--is-embedding") ? "embedding" : "completion", serves[0]);

/** What a model is for is seen in its architecture, which makes vectors without being told. */
export const furtherProofs = ({ args, serves }: Asked): readonly EngineRequest[] =>
  optionsOf(args).has("--is-embedding")
    ? [openaiProof("ranking", serves[0])]
    : [openaiProof("embedding", serves[0]), openaiProof("ranking", serves[0])];

const ServerInfo = z.object({
  // Undefined where nobody named it; then the longest prompt is what is known of it.
  context_length: z.int().positive().nullish(),
  max_req_input_len: z.int().positive().nullish(),
  internal_states: z.array(z.object({ effective_max_running_requests_per_dp: z.int().positive() })).min(1),
});

export function readCapacity(body: string): { readonly slots: number; readonly context: number } | undefined {
  const info = ServerInfo.safeParse(parsed(body));
  if (!info.success) return undefined;
  const { context_length: named, max_req_input_len: longest, internal_states: states } = info.data;
  const context = named ?? longest;
  if (context === undefined || context === null) return undefined;
  const slots = states.reduce((sum, state) => sum + state.effective_max_running_requests_per_dp, 0);
  return { slots, context };
}
