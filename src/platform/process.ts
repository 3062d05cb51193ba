import { spawn } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";
import { isErrno } from "./files.ts";

export interface DetachedProgram {
  readonly argv: readonly [string, ...string[]];
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Both outputs are appended to it. A file and no pipe: a pipe would end the program when we end. */
  readonly logPath: string;
}

export interface DetachedProcess {
  readonly pid: number;
  /** Resolves when it has ended, as long as this process lives. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/**
 * Starts a program in a session of its own, so that it outlives this process and is the leader of a process group that
 * holds everything it starts. The error says why it could not be started.
 */
export async function spawnDetached(program: DetachedProgram): Promise<Result<DetachedProcess, string>> {
  const [file, ...args] = program.argv;
  await mkdir(dirname(program.logPath), { recursive: true });
  // 0600: what an engine prints may hold prompts.
  const log = await open(program.logPath, "a", 0o600);
  try {
    const child = spawn(file, args, {
      env: program.env,
      cwd: program.cwd,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
      child.once("exit", (code, signal) => {
        resolve({ code, signal });
      });
    });
    const failure = await new Promise<Error | undefined>((resolve) => {
      child.once("spawn", () => {
        resolve(undefined);
      });
      child.once("error", resolve);
    });
    if (failure !== undefined || child.pid === undefined) {
      return err(`${file} cannot be started: ${messageOf(failure)}`);
    }
    child.on("error", () => undefined);
    child.unref();
    return ok({ pid: child.pid, exited });
  } finally {
    await log.close();
  }
}

/** False: there is nobody to get it. A signal that is not permitted is thrown. */
export function signalProcess(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  return sendSignal(pid, signal);
}

/** To every process of the group that `leader` leads or led. */
export function signalGroup(leader: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  return sendSignal(-leader, signal);
}

function sendSignal(target: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH")) return false;
    throw error;
  }
}
