import type { Millis } from "../../core/ids.ts";
import { isExecutableFile } from "../../platform/folders.ts";

type Argv = readonly [string, ...string[]];

const TIMEOUT_PROGRAM = "/usr/bin/timeout";

/** The command with an end of its own: if this process is killed, nobody else ends what it had started. */
export async function mortal(argv: Argv, within: Millis): Promise<Argv> {
  if (!(await isExecutableFile(TIMEOUT_PROGRAM))) return argv;
  // Ours comes first, so that it is known for a timeout and not for a kill.
  return [TIMEOUT_PROGRAM, "-s", "KILL", String(Math.ceil((1.5 * within) / 1000)), ...argv];
}
