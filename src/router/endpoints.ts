import type { ErrorShape } from "./error-body.ts";

/** What a path is answered by. */
export type Endpoint =
  /** An engine: the body names the model. */
  | { readonly kind: "engine"; readonly errors: ErrorShape }
  | { readonly kind: "models" }
  /** The rest of the path is the model's name. */
  | { readonly kind: "model"; readonly name: string }
  | { readonly kind: "health" }
  | { readonly kind: "readiness" }
  | { readonly kind: "metrics" };

/** Those that a client's key opens. */
export type KeyedEndpoint = Extract<Endpoint, { readonly kind: "engine" | "models" | "model" }>;

const OPENAI: Endpoint = { kind: "engine", errors: "openai" };
const ANTHROPIC: Endpoint = { kind: "engine", errors: "anthropic" };

/** Every path there is, but those of single models. */
const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  ["/v1/chat/completions", OPENAI],
  ["/v1/completions", OPENAI],
  ["/v1/embeddings", OPENAI],
  ["/v1/rerank", OPENAI],
  ["/v1/responses", OPENAI],
  ["/v1/messages", ANTHROPIC],
  ["/v1/messages/count_tokens", ANTHROPIC],
  ["/tokenize", OPENAI],
  ["/detokenize", OPENAI],
  ["/v1/models", { kind: "models" }],
  ["/healthz", { kind: "health" }],
  // What monitors made for engines ask for.
  ["/health", { kind: "health" }],
  ["/readyz", { kind: "readiness" }],
  ["/metrics", { kind: "metrics" }],
]);

const MODEL_PREFIX = "/v1/models/";

export function findEndpoint(path: string): Endpoint | undefined {
  const endpoint = ENDPOINTS.get(path);
  if (endpoint !== undefined || !path.startsWith(MODEL_PREFIX)) return endpoint;
  return { kind: "model", name: path.slice(MODEL_PREFIX.length) };
}

export const methodsOf = ({ kind }: Endpoint): readonly string[] => (kind === "engine" ? ["POST"] : ["GET", "HEAD"]);
