/**
 * STAND-IN ENGINE, for tests about processes only: a real program that answers the requests an engine answers and
 * misbehaves on order. It computes nothing. Where a real engine can be used, it is.
 *
 *   --host H --port N       where it listens
 *   --loading-until FILE    answers 503 until the file is there
 *   --load-seconds N        answers 503 for so long
 *   --exit-code N           prints its last words and ends at once
 *   --ignore-term           does nothing at SIGTERM
 *   --hang-health           accepts a health request and never answers it
 *   --worker                starts a process in its group that ignores SIGTERM and outlives it
 *   --disguised-worker      starts one that leaves its group and session, its environment and its name behind
 *   --wandering-worker      starts one that leaves its group, session and name behind, but keeps its environment
 *   --print N               prints N bytes without a line end at its start
 *   --flood                 fills its log at 50 MB/s
 *   --cert FILE --key FILE  answers over TLS
 *   --hang-work             says that it has work, and nothing of it ever moves; its health is fine
 *
 * POST /eat makes it eat memory until it is stopped, POST /end/N ends it with that status.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { parseArgs } from "node:util";

const { values: flags } = parseArgs({
  options: {
    host: { type: "string", default: "127.0.0.1" },
    port: { type: "string", default: "0" },
    "loading-until": { type: "string" },
    "load-seconds": { type: "string", default: "0" },
    "exit-code": { type: "string" },
    "ignore-term": { type: "boolean", default: false },
    "hang-health": { type: "boolean", default: false },
    worker: { type: "boolean", default: false },
    print: { type: "string" },
    "disguised-worker": { type: "boolean", default: false },
    "wandering-worker": { type: "boolean", default: false },
    flood: { type: "boolean", default: false },
    "hang-work": { type: "boolean", default: false },
    cert: { type: "string" },
    key: { type: "string" },
  },
});

process.stdout.write("stand-in: starting\n");
if (flags.print !== undefined) process.stdout.write("x".repeat(Number(flags.print)));
if (flags["exit-code"] !== undefined) {
  process.stderr.write("stand-in: last words\n");
  process.exit(Number(flags["exit-code"]));
}
if (flags["ignore-term"]) process.on("SIGTERM", () => undefined);
if (flags.worker) {
  const worker = spawn("/bin/sh", ["-c", 'trap "" TERM; while :; do sleep 1; done'], { stdio: "ignore" });
  process.stdout.write(`stand-in: worker ${String(worker.pid)}\n`);
}

const LASTING = 'trap "" TERM; while :; do sleep 1; done';
if (flags["disguised-worker"]) {
  spawn("/usr/bin/setsid", ["/usr/bin/env", "-i", "/bin/sh", "-c", LASTING, "VLLM::Worker_TP0"], { stdio: "ignore" });
}
if (flags["wandering-worker"]) {
  spawn("/usr/bin/setsid", ["/bin/sh", "-c", LASTING, "VLLM::Worker_TP1"], { stdio: "ignore" });
}
if (flags.flood) {
  const lines = `${"x".repeat(124)}\n`.repeat(4000);
  setInterval(() => process.stdout.write(lines), 10);
}

/** Everything that was eaten stays. */
const eaten: Buffer[] = [];
const eat = (): void => {
  setInterval(() => eaten.push(Buffer.alloc(8 * 1024 * 1024, 1)), 5);
};

const loadedAt = performance.now() + Number(flags["load-seconds"]) * 1000;
const isLoading = (): boolean =>
  performance.now() < loadedAt || (flags["loading-until"] !== undefined && !existsSync(flags["loading-until"]));

/** What it answers to whoever shows the key; by path. */
const ANSWERS: Readonly<Record<string, () => unknown>> = {
  "/work": () => (flags["hang-work"] ? { requests: 1, done: 7 } : { requests: 0, done: 0 }),
  "/props": () => ({ slots: 3, context: 512 }),
  "/env": () => process.env,
  "/eat": () => {
    eat();
    return {};
  },
};

const serve: RequestListener = (request, response) => {
  const answer = (status: number, body: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const path = request.url ?? "";
  if (isLoading()) {
    answer(503, { error: { code: 503, message: "Loading model" } });
  } else if (path === "/health") {
    if (!flags["hang-health"]) answer(200, { status: "ok" });
  } else if (request.headers.authorization !== `Bearer ${process.env["STAND_IN_KEY"] ?? ""}`) {
    answer(401, { error: { code: 401, message: "Invalid API Key" } });
  } else if (path.startsWith("/end/")) {
    process.exit(Number(path.slice("/end/".length)));
  } else {
    answer(200, ANSWERS[path]?.() ?? { text: "one token" });
  }
};

const { cert, key } = flags;
const server =
  cert === undefined || key === undefined
    ? createServer(serve)
    : createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, serve);
server.listen(Number(flags.port), flags.host, () => {
  process.stdout.write("stand-in: listening\n");
});
