/**
 * STAND-IN ENGINE, for tests about processes only: a real program that answers the requests an engine answers and
 * misbehaves on order. It computes nothing. Where a real engine can be used, it is.
 *
 *   --host H --port N       where it listens
 *   --loading-until FILE    answers 503 until the file is there
 *   --exit-code N           prints its last words and ends at once
 *   --ignore-term           does nothing at SIGTERM
 *   --hang-health           accepts a health request and never answers it
 *   --worker                starts a process in its group that ignores SIGTERM and outlives it
 *   --print N               prints N bytes without a line end at its start
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const { values: flags } = parseArgs({
  options: {
    host: { type: "string", default: "127.0.0.1" },
    port: { type: "string", default: "0" },
    "loading-until": { type: "string" },
    "exit-code": { type: "string" },
    "ignore-term": { type: "boolean", default: false },
    "hang-health": { type: "boolean", default: false },
    worker: { type: "boolean", default: false },
    print: { type: "string" },
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

const isLoading = (): boolean => flags["loading-until"] !== undefined && !existsSync(flags["loading-until"]);

createServer((request, response) => {
  const answer = (status: number, body: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  if (isLoading()) {
    answer(503, { error: { code: 503, message: "Loading model" } });
  } else if (request.url === "/health") {
    if (!flags["hang-health"]) answer(200, { status: "ok" });
  } else if (request.headers.authorization !== `Bearer ${process.env["STAND_IN_KEY"] ?? ""}`) {
    answer(401, { error: { code: 401, message: "Invalid API Key" } });
  } else if (request.url === "/props") {
    answer(200, { slots: 3, context: 512 });
  } else if (request.url === "/env") {
    answer(200, process.env);
  } else {
    answer(200, { text: "one token" });
  }
}).listen(Number(flags.port), flags.host, () => {
  process.stdout.write("stand-in: listening\n");
});
