import type { ClientHeaders } from "./client/client-headers.ts";
import type { EngineApi } from "../core/engine-api.ts";
import type { BodyType } from "./body-type.ts";
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
  readonly api: EngineApi;
  readonly errors: ErrorShape;
  readonly work: EngineWork;
  readonly body: BodyType;
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

const engine = (api: EngineApi, work: EngineWork, more: Partial<EngineEndpoint> = {}): EngineEndpoint => ({
  kind: "engine",
  api,
  work,
  errors: "openai",
  body: "json",
  usageByOption: false,
  ...more,
});

/** Every path there is, but those of single models. */
const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  ["/v1/chat/completions", engine("chat", "generate", { usageByOption: true })],
  ["/v1/completions", engine("completions", "generate", { usageByOption: true })],
  ["/v1/embeddings", engine("embeddings", "compute")],
  ["/v1/rerank", engine("rerank", "compute")],
  ["/v1/responses", engine("responses", "generate", { errors: "responses" })],
  ["/v1/responses/input_tokens", engine("responses-count", "count")],
  ["/v1/messages", engine("messages", "generate", { errors: "anthropic" })],
  ["/v1/messages/count_tokens", engine("messages-count", "count", { errors: "anthropic" })],
  ["/v1/audio/transcriptions", engine("transcriptions", "compute", { body: "form" })],
  ["/v1/audio/translations", engine("translations", "compute", { body: "form" })],
  ["/v1/audio/speech", engine("speech", "compute")],
  ["/v1/images/generations", engine("images", "compute")],
  ["/tokenize", engine("tokenize", "count")],
  ["/detokenize", engine("detokenize", "count")],
  ["/v1/models", { kind: "models" }],
  ["/healthz", { kind: "health" }],
  // What monitors made for engines ask for.
  ["/health", { kind: "health" }],
  ["/readyz", { kind: "readiness" }],
  ["/metrics", { kind: "metrics" }],
]);

const PATHS: ReadonlyMap<string, string> = new Map([...ENDPOINTS.keys()].map((path) => [path, path]));

/** The path as one text for all requests: a part of a request's head would keep that head, and be hashed anew each time. */
export const knownPath = (path: string): string => PATHS.get(path) ?? path;

const MODEL_PREFIX = "/v1/models/";

export function findEndpoint(path: string): Endpoint | undefined {
  const endpoint = ENDPOINTS.get(path);
  if (endpoint !== undefined || !path.startsWith(MODEL_PREFIX)) return endpoint;
  return { kind: "model", name: path.slice(MODEL_PREFIX.length) };
}

const ASKING = ["POST"] as const;
const LOOKING = ["GET", "HEAD"] as const;

export const methodsOf = ({ kind }: Endpoint): readonly string[] => (kind === "engine" ? ASKING : LOOKING);

/** Whose errors a path's client reads. Anthropic's clients ask for models by the same path, and say who they are. */
export function shapeOf(path: string, headers: ClientHeaders): ErrorShape {
  const endpoint = ENDPOINTS.get(path);
  if (endpoint?.kind === "engine") return endpoint.errors;
  const isModels = path === "/v1/models" || path.startsWith(MODEL_PREFIX);
  if (isModels) return headers["anthropic-version"] === undefined ? "openai" : "anthropic";
  return path.startsWith("/v1/messages") ? "anthropic" : "openai";
}
