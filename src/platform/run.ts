import { spawn } from "node:child_process";
import { messageOf } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import { isErrno } from "./files.ts";

export interface RunOptions {
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** After this long the program and everything it started is killed. */
  readonly timeout: Millis;
  readonly signal?: AbortSignal;
  /** Called with each piece of either output as it comes. */
  readonly onOutput?: (text: string) => void;
}

/** How a program that was started ended. */
export interface RunOutcome {
  readonly kind: "ended";
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** The number of a program that was killed and is there still: it waits in the kernel, as for a device that hangs. */
  readonly survivor?: number;
}

/** Why a program was not started: there is no such file, it may not be executed, or something else. */
export interface NotStarted {
  readonly kind: "notStarted";
  readonly reason: "missing" | "forbidden" | "other";
  readonly message: string;
}

/** A tool's answer fits; one that runs wild must not fill the memory. The end is kept, since that is where reasons stand. */
const KEPT_CHARACTERS = 1024 * 1024;
/** A killed process is gone in no time, unless the kernel itself waits for something in its name. */
const GONE_WITHIN_MS = 2_000;

/**
 * Runs a program to its end and keeps the last MiB of each of its outputs. No shell is involved. It gets a process group of
 * its own, and on a timeout or an abort the whole group is killed, so that a child it left behind does not hold us.
 */
export function runProgram(
  argv: readonly [string, ...string[]],
  options: RunOptions,
): Promise<RunOutcome | NotStarted> {
  const child = started(argv, options);
  if (child instanceof Error) return Promise.resolve(notStarted(argv[0], child));
  const stdout = tailOf(child.stdout, options.onOutput);
  const stderr = tailOf(child.stderr, options.onOutput);
  return new Promise((resolve) => {
    let timedOut = false;
    let waiting: NodeJS.Timeout | undefined;
    const kill = (): void => {
      if (child.pid !== undefined) killGroup(child.pid);
      // A grandchild in a session of its own may still hold the pipes open: closing ours lets "close" come.
      child.stdout.destroy();
      child.stderr.destroy();
      waiting ??= setTimeout(giveUp, GONE_WITHIN_MS);
    };
    const giveUp = (): void => {
      child.unref();
      const survivor = child.pid === undefined ? {} : { survivor: child.pid };
      finish({ kind: "ended", code: null, signal: null, stdout: stdout(), stderr: stderr(), timedOut, ...survivor });
    };
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, options.timeout);
    options.signal?.addEventListener("abort", kill);
    if (options.signal?.aborted === true) kill();
    const finish = (outcome: RunOutcome | NotStarted): void => {
      clearTimeout(timer);
      clearTimeout(waiting);
      options.signal?.removeEventListener("abort", kill);
      resolve(outcome);
    };
    child.once("error", (error) => {
      if (child.pid === undefined) finish(notStarted(argv[0], error));
    });
    child.once("close", (code, signal) => {
      finish({ kind: "ended", code, signal, stdout: stdout(), stderr: stderr(), timedOut });
    });
  });
}

/** An empty name, a NUL in a word, or too many of them are thrown at once; what only the system knows comes as an event. */
function started([program, ...args]: readonly [string, ...string[]], { env, cwd }: RunOptions) {
  try {
    const where = cwd === undefined ? {} : { cwd };
    return spawn(program, args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"], ...where });
  } catch (error) {
    return error instanceof Error ? error : new Error(messageOf(error));
  }
}

function tailOf(stream: NodeJS.ReadableStream, onOutput?: (text: string) => void): () => string {
  let kept = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    kept = (kept + chunk).slice(-KEPT_CHARACTERS);
    onOutput?.(chunk);
  });
  return () => kept;
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch (error) {
    if (!isErrno(error, "ESRCH")) throw error;
  }
}

function notStarted(program: string, error: Error): NotStarted {
  if (isErrno(error, "ENOENT")) {
    return { kind: "notStarted", reason: "missing", message: `there is no program ${program}` };
  }
  if (isErrno(error, "EACCES")) {
    return { kind: "notStarted", reason: "forbidden", message: `${program} may not be executed by this user` };
  }
  return { kind: "notStarted", reason: "other", message: `${program} cannot be started: ${error.message}` };
}
