import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";

const LAUNCHER = resolve(import.meta.dirname, "../../bin/llmgw");
/** Starts take less time with one cache for all; a test that is about the cache names none. */
const COMPILED = { NODE_COMPILE_CACHE: resolve(import.meta.dirname, "../.cache/compiled") };

/** A real llmgw process, with everything it printed. */
export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  output(): string;
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
  /** Sends the signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<number | string>;
}

export function llmgw(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  return run([LAUNCHER, ...args], env);
}

/** The same, started by another program, such as one that enters a namespace and becomes it. */
export const llmgwBy = (starter: readonly [string, ...string[]], args: readonly string[]): Running =>
  run([...starter, LAUNCHER, ...args]);

function run(argv: readonly [string, ...string[]], env: Readonly<Record<string, string>> = {}): Running {
  const [program, ...args] = argv;
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...COMPILED, ...env },
  });
  const chunks: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => chunks.push(text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => chunks.push(text));
  const exited = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | string);
  if (child.pid === undefined) throw new Error(`could not start ${program}`);
  return {
    child,
    pid: child.pid,
    output: () => chunks.join(""),
    exited,
    end(signal = "SIGTERM") {
      child.kill(signal);
      return exited;
    },
  };
}

/** The exit code and the two streams of a command that ends by itself. */
export async function finished(
  args: readonly string[],
  options: { env?: Readonly<Record<string, string>>; input?: string } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(LAUNCHER, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...COMPILED, ...options.env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.end(options.input ?? "");
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? -1, stdout, stderr };
}
