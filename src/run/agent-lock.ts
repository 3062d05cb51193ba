import { join } from "node:path";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { isErrno } from "../platform/files.ts";
import { acquireLock, type Lock } from "../platform/lock.ts";
import type { Logger } from "../platform/logger.ts";
import { holdName } from "../platform/name-lock.ts";
import { makePrivateFolder } from "../platform/subfolders.ts";

/** A disk that is full, broken or read-only: it may pass, and what runs on the node needs its agent most then. */
const PASSING = ["ENOSPC", "EDQUOT", "EROFS", "EIO"] as const;

/**
 * One agent on a folder. The lock in the folder names who has it; where none can be written, a name that the kernel holds keeps
 * a second agent away, and this one goes on with what it has.
 */
export async function takeAgentLock(workDir: string, logger: Logger): Promise<Lock> {
  const file = await fileLock(workDir, logger);
  const name = await holdName(`llmgw-agent ${workDir}`);
  if (name === undefined) {
    await file?.release();
    throw new LlmgwError("CONFLICT", `another agent runs on ${workDir}: stop it, or give this one another work_dir`);
  }
  return {
    release: async () => {
      await file?.release();
      await name.release();
    },
  };
}

async function fileLock(workDir: string, logger: Logger): Promise<Lock | undefined> {
  try {
    await makePrivateFolder(workDir);
    const lock = await acquireLock(join(workDir, "agent.lock"));
    if (lock.ok) return lock.value;
    const pid = String(lock.error.pid);
    throw new LlmgwError(
      "CONFLICT",
      `an agent already runs on ${workDir}, as process ${pid}: stop it, or give this one another work_dir`,
    );
  } catch (error) {
    if (error instanceof LlmgwError) throw error;
    const what = `supervisor.work_dir ${workDir} cannot be used: ${messageOf(error)}`;
    if (!isErrno(error, ...PASSING)) throw new LlmgwError("FAILED", what, { cause: error });
    logger.error(`${what}; engines that run are taken over, and none is started until it can be written`);
    return undefined;
  }
}
