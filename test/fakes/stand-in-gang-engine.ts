/**
 * STAND-IN for vLLM and SGLang as ranks of one replica, for tests about ranks only: a real program that reads the real
 * command lines, meets its peers over TCP at the head's address, and answers when all of them are there. It computes
 * nothing: a token is a word that the head gets from every rank.
 *
 * What a real one does when a peer dies it does too: nothing. The head's health stays well and its requests hang, a rank
 * without its head waits. STAND_IN_PEER_DEATH=die makes it end instead.
 */
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { readFileSync } from "node:fs";
import { connect, createServer as createTcp, type Socket } from "node:net";
import { parseArgs } from "node:util";

type Kind = "vllm" | "sglang";

interface Rank {
  readonly kind: Kind;
  readonly rank: number;
  readonly ranks: number;
  readonly master: { readonly host: string; readonly port: number };
  readonly http: { readonly host: string; readonly port: number };
  readonly name: string;
  readonly apiKey: string;
  /** All that must be the same on every rank. */
  readonly common: string;
}

const say = (text: string): void => {
  process.stdout.write(`stand-in: ${text}\n`);
};

function fail(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;

/** What was not said, as the programs themselves have it. */
const said = <V extends object, D extends object>(values: V, defaults: D): D & V => ({ ...defaults, ...values });

const VLLM_DEFAULTS = {
  ...{ nnodes: "1", "node-rank": "0", "master-addr": "127.0.0.1", "master-port": "29501" },
  ...{ host: "0.0.0.0", port: "8000", "tensor-parallel-size": "1", "pipeline-parallel-size": "1" },
};

function vllmRank(args: readonly string[]): Rank {
  const parsed = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...{ host: text, port: text, "max-model-len": text, "gpu-memory-utilization": text },
      ...{ "tensor-parallel-size": text, "pipeline-parallel-size": text, nnodes: text, "node-rank": text },
      ...{ "master-addr": text, "master-port": text, "disable-access-log-for-endpoints": text, middleware: text },
      ...{ headless: flag, "enable-prompt-tokens-details": flag, "served-model-name": { ...text, multiple: true } },
    },
  });
  const values = said(parsed.values, VLLM_DEFAULTS);
  const rank = Number(values["node-rank"]);
  if (values.headless !== rank > 0) fail("ValueError: every rank but the first is headless");
  return {
    ...{ kind: "vllm", rank, ranks: Number(values.nnodes), name: String(values["served-model-name"]?.[0]) },
    master: { host: values["master-addr"], port: Number(values["master-port"]) },
    http: { host: values.host, port: Number(values.port) },
    apiKey: String(process.env["VLLM_API_KEY"]),
    common: [
      ...[parsed.positionals[1], values["tensor-parallel-size"], values["pipeline-parallel-size"], values.nnodes],
    ].join(" "),
  };
}

const SGLANG_DEFAULTS = {
  ...{ nnodes: "1", "node-rank": "0", "dist-init-addr": "127.0.0.1:29501", host: "127.0.0.1", port: "30000" },
  ...{ "tp-size": "1", "pp-size": "1", config: "/dev/null" },
};

function sglangRank(args: readonly string[]): Rank {
  const parsed = parseArgs({
    args: [...args],
    options: {
      ...{ host: text, port: text, "context-length": text, "mem-fraction-static": text, config: text },
      ...{ "tp-size": text, "pp-size": text, nnodes: text, "node-rank": text, "dist-init-addr": text },
      ...{ "model-path": text, "served-model-name": text, "enable-metrics": flag, "enable-cache-report": flag },
      "disable-custom-all-reduce": flag,
    },
  });
  const values = said(parsed.values, SGLANG_DEFAULTS);
  const [host = "", port = "0"] = values["dist-init-addr"].split(/:(?=\d+$)/);
  return {
    ...{ kind: "sglang", rank: Number(values["node-rank"]), ranks: Number(values.nnodes) },
    ...{ name: String(values["served-model-name"]), master: { host, port: Number(port) } },
    http: { host: values.host, port: Number(values.port) },
    apiKey: String(/^api-key: "(.*)"$/m.exec(readFileSync(values.config, "utf8"))?.[1]),
    common: [values["model-path"], values["tp-size"], values["pp-size"], values.nnodes].join(" "),
  };
}

function refuseWrongNode({ kind, ranks, common }: Rank): void {
  const { CUDA_VISIBLE_DEVICES: gpus = "", NCCL_IB_HCA: hcas = "" } = process.env;
  if (!/^=\w+:\d+$/.test(hcas)) fail(`NCCL_IB_HCA is ${hcas === "" ? "missing" : hcas}, not one exact port`);
  const [, tensor, pipeline] = common.split(" ").map((word) => Number(word === "" ? 1 : word));
  const world = (tensor ?? 1) * (pipeline ?? 1);
  if (gpus.split(",").length * ranks !== world) {
    fail(`ValueError: ${kind} world size ${String(world)} does not fit ${gpus} on each of ${String(ranks)} nodes`);
  }
}

const peers = new Map<number, Socket>();
/** Ranks that have to answer before a token is whole. */
const waiting = new Map<number, { left: number; done: () => void }>();
let lastToken = 0;

function peerDied(what: string): void {
  say(what);
  if (process.env["STAND_IN_PEER_DEATH"] === "die") fail(`RuntimeError: NCCL error: remote process exited (${what})`);
}

function onLines(socket: Socket, hear: (line: string) => void): void {
  let rest = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) hear(line);
  });
}

/** The head waits for all others on the master's port. */
function gather(own: Rank): void {
  const server = createTcp((socket) => {
    let peer: number | undefined;
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (peer !== undefined) peerDied(`rank ${String(peer)} is gone`);
    });
    onLines(socket, (line) => {
      const [word, number, ...common] = line.split(" ");
      if (word === "join") {
        if (common.join(" ") !== own.common) fail(`rank ${number ?? ""} was started otherwise: ${common.join(" ")}`);
        peer = Number(number);
        peers.set(peer, socket);
        say(`rank ${String(peer)} joined`);
        if (peers.size === own.ranks - 1) serve(own);
        return;
      }
      const token = waiting.get(Number(number));
      if (token === undefined) return;
      token.left -= 1;
      if (token.left === 0) token.done();
    });
  });
  server.on("error", (error) => fail(`DistNetworkError: ${error.message}`));
  // Every interface, as TCPStore does.
  server.listen(own.master.port, "0.0.0.0", () => {
    say(`rank 0 of ${String(own.ranks)} waits on port ${String(own.master.port)}`);
    if (own.ranks === 1) serve(own);
  });
}

function join(own: Rank): void {
  const socket = connect(own.master);
  let isIn = false;
  socket.on("connect", () => {
    isIn = true;
    say(`rank ${String(own.rank)} joined ${own.master.host}:${String(own.master.port)}`);
    socket.write(`join ${String(own.rank)} ${own.common}\n`);
  });
  onLines(socket, (line) => socket.write(`done ${line.split(" ")[1] ?? ""}\n`));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    if (isIn) peerDied("the head is gone");
    else setTimeout(join, 100, own);
  });
}

/** Of every other rank; hangs when one is gone. */
async function oneToken(): Promise<void> {
  lastToken += 1;
  if (peers.size === 0) return;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  waiting.set(lastToken, {
    left: peers.size,
    done: () => {
      resolve(undefined);
    },
  });
  for (const socket of peers.values()) socket.write(`token ${String(lastToken)}\n`);
  await promise;
}

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const CHOICE = { index: 0, finish_reason: "stop" };

/** By path: what is answered to whoever shows the key. */
const ANSWERS: Readonly<Record<string, (own: Rank) => Promise<unknown> | object>> = {
  "/v1/models": ({ name }) => ({ data: [{ id: name, max_model_len: 4096 }] }),
  "/server_info": () => ({
    ...{ context_length: 4096, internal_states: [{ effective_max_running_requests_per_dp: 8 }] },
  }),
  "/v1/completions": async ({ ranks }) => {
    await oneToken();
    return { id: "c", object: "text_completion", choices: [{ ...CHOICE, text: words(ranks) }], usage: USAGE };
  },
  "/v1/chat/completions": async ({ ranks }) => {
    await oneToken();
    const message = { role: "assistant", content: words(ranks) };
    return { id: "c", object: "chat.completion", choices: [{ ...CHOICE, message }], usage: USAGE };
  },
};

const words = (ranks: number): string => `from ${String(ranks)} ranks`;

async function answer(own: Rank, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = String(request.url);
  const send = (status: number, body: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  if (path === "/health") send(200, {});
  else if (request.headers.authorization !== `Bearer ${own.apiKey}`) send(401, { error: "Unauthorized" });
  else if (ANSWERS[path] === undefined) send(404, { error: { message: "Not Found" } });
  else send(200, await ANSWERS[path](own));
}

let isServing = false;

function serve(own: Rank): void {
  if (isServing) return;
  isServing = true;
  createHttp((request, response) => void answer(own, request, response)).listen(own.http.port, own.http.host, () => {
    say(own.kind === "vllm" ? "Application startup complete." : "The server is fired up and ready to roll!");
  });
}

/** SGLang's other ranks answer 200 to whoever asks for their health, whatever state they are in. */
const serveDummy = ({ http }: Rank): void => {
  createHttp((_, response) => response.end("{}")).listen(http.port, http.host);
};

function run(own: Rank): void {
  refuseWrongNode(own);
  process.on("SIGTERM", () => process.exit(0));
  if (own.rank > 0 && own.kind === "sglang") serveDummy(own);
  if (own.rank === 0) gather(own);
  else join(own);
}

const [kind, ...args] = process.argv.slice(2);
if (kind === "vllm" && args[0] === "--version") process.stdout.write("0.33.0\n");
else if (kind === "sglang" && args[0] === "-c") process.stdout.write("sglang 0.5.9\n");
else if (kind === "vllm" && args[0] === "serve") run(vllmRank(args));
else if (kind === "sglang" && args[1] === "sglang.launch_server") run(sglangRank(args.slice(2)));
else fail(`stand-in: not understood: ${process.argv.slice(2).join(" ")}`);
