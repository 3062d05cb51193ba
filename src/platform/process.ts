import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants, mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { constants as system } from "node:os";
import { dirname } from "node:path";
import { messageOf } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { isErrno } from "./files.ts";

export interface DetachedProgram {
  readonly argv: readonly [string, ...string[]];
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Both outputs are appended to it. A file and no pipe: a pipe would end the program when we end. */
  readonly logPath: string;
  /** How the program ended is written there, also when this process is gone by then. */
  readonly statusPath: string;
}

export interface DetachedProcess {
  /** Of the program itself. */
  readonly pid: number;
  /** Of the process that waits for the program; it leads the session and the group of both. */
  readonly keeper: number;
  /** Resolves when the keeper has ended, as long as this process lives: then the program has ended, or it is an orphan. */
  readonly exited: Promise<void>;
}

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: string | null;
}

/**
 * Only a parent is told how a process ended, and we may be gone by then. So the program gets a parent that stays: a shell
 * that starts it, waits and writes the status down. The program itself takes the place of a second shell, which says its own
 * pid first; started with `&` it would ignore SIGINT and SIGQUIT. Signals to the group do not end the keeper.
 */
const KEEPER = `trap : TERM INT HUP QUIT
exec 4>&2 2>/dev/null
/bin/sh -c 'echo "$$" >&3; exec 3>&- 2>&4 4>&-; exec "$@"' sh "$@"
status=$?
echo "$status" >"$0"`;

/**
 * Starts a program in a session of its own, so that it outlives this process, in a process group that holds everything it
 * starts. The error says why it could not be started.
 */
export async function spawnDetached(program: DetachedProgram): Promise<Result<DetachedProcess, string>> {
  const [file] = program.argv;
  await mkdir(dirname(program.logPath), { recursive: true });
  await rm(program.statusPath, { force: true });
  const problem = await whyNotExecutable(file);
  if (problem !== undefined) return err(`${file} cannot be started: ${problem}`);
  // 0600: what an engine prints may hold prompts.
  const log = await open(program.logPath, "a", 0o600);
  try {
    const keeper = spawn("/bin/sh", ["-c", KEEPER, program.statusPath, ...program.argv], {
      env: program.env,
      cwd: program.cwd,
      detached: true,
      stdio: ["ignore", log.fd, log.fd, "pipe"],
    });
    keeper.on("error", () => undefined);
    const exited = once(keeper, "exit").then(() => undefined);
    const pid = await programPid(keeper);
    keeper.unref();
    if (pid === undefined || keeper.pid === undefined) return err(`${file} cannot be started`);
    return ok({ pid, keeper: keeper.pid, exited });
  } catch (error) {
    return err(`${file} cannot be started: ${messageOf(error)}`);
  } finally {
    await log.close();
  }
}

/** What is found by PATH is left to the shell: its words about it are in the log. */
async function whyNotExecutable(file: string): Promise<string | undefined> {
  if (!file.includes("/")) return undefined;
  return access(file, constants.X_OK).then(() => undefined, messageOf);
}

async function programPid(keeper: ChildProcess): Promise<number | undefined> {
  const pipe = keeper.stdio[3] as NodeJS.ReadableStream & { destroy(): void };
  let text = "";
  try {
    for await (const chunk of pipe) {
      text += String(chunk);
      if (text.endsWith("\n")) break;
    }
  } finally {
    pipe.destroy();
  }
  return /^\d+\n$/.test(text) ? Number(text) : undefined;
}

/** What the keeper wrote; undefined as long as it did not. */
export async function readExitStatus(statusPath: string): Promise<ExitStatus | undefined> {
  const text = await readFile(statusPath, "utf8").catch(() => "");
  if (!/^\d{1,3}\n$/.test(text)) return undefined;
  const status = Number(text);
  // A shell says 128 and the signal's number.
  const [signal] = Object.entries(system.signals).find(([, number]) => number === status - 128) ?? [];
  return signal === undefined ? { code: status, signal: null } : { code: null, signal };
}

/** When the keeper wrote it, by the wall clock; undefined as long as it did not. */
export async function exitedAt(statusPath: string): Promise<Millis | undefined> {
  const written = await stat(statusPath).catch(() => undefined);
  return written === undefined ? undefined : millis(written.mtimeMs);
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
