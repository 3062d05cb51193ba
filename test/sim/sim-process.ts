import type { ProcessStat } from "../../src/platform/proc.ts";

/** How the engine in a process is at the moment. */
type EngineHealth =
  /** Reads its weights. */
  | "loading"
  | "ready"
  /** Its process is there, and nothing comes out of it. */
  | "hung";

/** What a process does that is an engine. */
export interface SimEngine {
  health: EngineHealth;
  /** It has answered a piece of work. */
  hasWorked: boolean;
  /** Streams that it answers now, whatever router sent them. */
  streams: number;
  /** Grows with everything that it does. */
  done: number;
  readonly port: number;
  readonly apiKey: string;
  readonly gpus: readonly string[];
  readonly dialect: "llama.cpp" | "vllm";
  /** Of a rank: where all of them meet, and how many they are. */
  readonly meeting: { readonly place: string; readonly ranks: number } | undefined;
}

export interface SimProcess {
  readonly stat: ProcessStat;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly replica: string;
  readonly startedAt: number;
  /** Undefined: a keeper, which waits for its engine. */
  readonly engine: SimEngine | undefined;
}

/** What ended an engine. */
export type Ending =
  { readonly by: "fault"; readonly what: string } | { readonly by: "agent"; readonly signal: "SIGTERM" | "SIGKILL" };

/** What the engine in a process is, by the command that it was started with. */
export function engineOfCommand(argv: readonly string[], env: Readonly<Record<string, string>>): SimEngine {
  const after = (flag: string): string => argv[argv.indexOf(flag) + 1] ?? "";
  const isRank = argv.includes("--nnodes");
  const gpus = (env["CUDA_VISIBLE_DEVICES"] ?? "").split(",").filter((gpu) => gpu !== "");
  const place = `${after("--master-addr")}:${after("--master-port")}`;
  return {
    health: "loading",
    hasWorked: false,
    streams: 0,
    done: 0,
    // A rank that answers nobody listens on nothing.
    port: argv.includes("--headless") ? 0 : Number(after("--port")),
    apiKey: env["LLAMA_API_KEY"] ?? env["VLLM_API_KEY"] ?? "",
    gpus,
    dialect: argv[1] === "serve" ? "vllm" : "llama.cpp",
    meeting: isRank ? { place, ranks: Number(after("--nnodes")) } : undefined,
  };
}

interface Asked {
  readonly method: string;
  readonly path: string;
}

/** What an engine that works answers. */
export function answerOf(engine: SimEngine, { method, path }: Asked): { status: number; body: string } {
  const json = (body: object): { status: number; body: string } => ({ status: 200, body: JSON.stringify(body) });
  switch (`${method} ${path}`) {
    case "GET /health":
      return { status: 200, body: '{"status":"ok"}' };
    case "POST /v1/completions":
      return json({ choices: [{ text: " yes" }] });
    case "GET /props":
      return json({ total_slots: 4, default_generation_settings: { n_ctx: 4096 } });
    case "GET /v1/models":
      return json({ data: [{ max_model_len: 4096 }] });
    case "GET /metrics":
      return { status: 200, body: metricsOf(engine) };
    default:
      return { status: 404, body: '{"error":{"message":"no such page"}}' };
  }
}

/** An engine that answers gets on with what it has. */
function metricsOf(engine: SimEngine): string {
  if (engine.streams > 0) engine.done += 1;
  const [n, done] = [String(engine.streams), String(engine.done)];
  return engine.dialect === "vllm"
    ? `vllm:num_requests_running ${n}\nvllm:num_requests_waiting 0\nvllm:prompt_tokens_total ${done}\n`
    : `llamacpp:requests_processing ${n}\nllamacpp:requests_deferred 0\nllamacpp:n_decode_total ${done}\n`;
}
