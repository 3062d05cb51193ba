import type { ErrorShape } from "./error-body.ts";

/** What a request asks of an engine. */
type EngineWork =
  /** Answers to a prompt, whose beginning it may have in its cache. */
  | "generate"
  /** Numbers, from texts that it reads once. */
  | "compute"
  /** Tokens of a text: that takes none of its slots. */
  | "count";

export interface EngineEndpoint {
  readonly kind: "engine";
  readonly errors: ErrorShape;
  readonly work: EngineWork;
  /** Whether a stream counts its tokens only when `stream_options.include_usage` asks for it. */
  readonly usageByOption: boolean;
}

/** What a path is answered by. */
export type Endpoint =
  /** An engine: the body names the model. */
  | EngineEndpoint
  | { readonly kind: "models" }
  /** The rest of the path is the model's name. */
  | { readonly kind: "model"; readonly name: string }
  | { readonly kind: "health" }
  | { readonly kind: "readiness" }
  | { readonly kind: "metrics" };

/** Those that a client's key opens. */
export type KeyedEndpoint = Extract<Endpoint, { readonly kind: "engine" | "models" | "model" }>;

const engine = (errors: ErrorShape, work: EngineWork, usageByOption = false): EngineEndpoint => ({
  kind: "engine",
  errors,
  work,
  usageByOption,
});

/** Every path there is, but those of single models. */
const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  ["/v1/chat/completions", engine("openai", "generate", true)],
  ["/v1/completions", engine("openai", "generate", true)],
  ["/v1/embeddings", engine("openai", "compute")],
  ["/v1/rerank", engine("openai", "compute")],
  ["/v1/responses", engine("openai", "generate")],
  ["/v1/messages", engine("anthropic", "generate")],
  ["/v1/messages/count_tokens", engine("anthropic", "count")],
  ["/tokenize", engine("openai", "count")],
  ["/detokenize", engine("openai", "count")],
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
