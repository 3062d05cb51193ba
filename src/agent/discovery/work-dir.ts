import { whyNotWritable } from "../../platform/writable.ts";

/** What is wrong with the folder in which each start is written down before it is made; empty: nothing is. */
export async function workDirProblems(workDir: string): Promise<readonly string[]> {
  const why = await whyNotWritable(workDir);
  if (why === undefined) return [];
  return [`supervisor.work_dir ${workDir} ${why}: engines that run serve on, but none can be started or written down`];
}
