import { isErrno } from "../platform/files.ts";

let isRole = false;

/** A role has better things to do than to print: without a reader it goes on in silence. */
export function outliveReaders(): void {
  isRole = true;
}

/**
 * `llmgw … | head`: a reader that has seen enough is no failure, and a command that only prints is done. One that had
 * failed before keeps its exit code. EIO is what a terminal that was closed answers.
 */
export function endQuietlyWithoutReader(): void {
  process.stdout.on("error", (error: Error) => {
    if (!isErrno(error, "EPIPE", "EIO")) throw error;
    if (!isRole) process.exit(process.exitCode ?? 0);
  });
  process.stderr.on("error", (error: Error) => {
    if (!isErrno(error, "EPIPE", "EIO")) throw error;
  });
}
