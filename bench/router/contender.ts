import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { connect } from "node:net";
import { listProcesses } from "../../src/platform/proc.ts";
import { until } from "../../test/e2e/wait.ts";

/** What is measured: a program that answers on a port of this machine. */
export interface Contender {
  readonly port: number;
  /** Header lines that it needs. */
  readonly headers: readonly string[];
  /** Keys that it takes; left out: those that all are shown. */
  readonly keys?: readonly string[] | undefined;
  /** Its processes now: some begin when the port is open already. None for the engine itself. */
  pids(): Promise<readonly number[]>;
  stop(): Promise<void>;
}

/** The generator and the engine have one core, what is between them the other: neither then waits for the other's turn. */
export const LOAD_CORE = 0;
const CONTENDER_CORE = 1;
export const isPinned = availableParallelism() >= 2;

export interface Program {
  readonly argv: readonly [string, ...string[]];
  readonly port: number;
  readonly headers?: readonly string[];
  readonly keys?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it answers; left out: its port can be connected. */
  readonly isReady?: () => Promise<boolean>;
}

const children = new Set<ChildProcess>();
// A bench that breaks or is told to stop leaves nothing running.
process.once("exit", () => {
  for (const child of children) child.kill("SIGTERM");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    process.exit(1);
  });
}

/** Starts a program on the contenders' core and waits until it answers. Rejects with what it printed. */
export async function startProgram({ argv, port, headers = [], keys, env = {}, isReady }: Program): Promise<Contender> {
  const [program, ...args] = isPinned ? (["taskset", "-c", String(CONTENDER_CORE), ...argv] as const) : argv;
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  children.add(child);
  const output = tailOf(child);
  const ended = once(child, "exit").finally(() => children.delete(child));
  const failed = ended.then(([code]) => {
    throw new Error(`it ended with ${String(code)}: ${output()}`);
  });
  failed.catch(() => undefined);
  const ready = until("its port", isReady ?? (() => isOpen(port)), { timeoutMs: 120_000, seen: output });
  await Promise.race([ready, failed]).catch((error: unknown) => {
    child.kill("SIGKILL");
    throw error instanceof Error ? error : new Error(String(error));
  });
  return {
    port,
    headers,
    keys,
    pids: () => withChildren(child.pid ?? 0),
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

const LONGEST_OUTPUT = 2_000;

/** What it printed last. The pipes are always read: a full one would hold up the program. */
function tailOf(child: ChildProcess): () => string {
  let text = "";
  const add = (more: string): void => {
    text = (text + more).slice(-LONGEST_OUTPUT);
  };
  child.stdout?.setEncoding("utf8").on("data", add);
  child.stderr?.setEncoding("utf8").on("data", add);
  return () => text;
}

function isOpen(port: number): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  return new Promise((resolve) => {
    socket.once("error", () => {
      resolve(false);
    });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

async function withChildren(pid: number): Promise<readonly number[]> {
  const all = await listProcesses();
  const family = [pid];
  // A list that grows while it is walked.
  for (const one of family) for (const { pid: child, parent } of all) if (parent === one) family.push(child);
  return family;
}
