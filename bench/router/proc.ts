import { readdir, readFile } from "node:fs/promises";
import { usageOf } from "../usage.ts";

/** Processor time of processes with all their threads, in microseconds: user and system, to the nanosecond by the scheduler's own books. */
export async function cpuMicros(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(pids.map(cpuOf));
  return each.reduce((sum, one) => sum + one, 0);
}

async function cpuOf(pid: number): Promise<number> {
  const folder = `/proc/${String(pid)}/task`;
  const threads = await readdir(folder);
  // A thread may end while it is looked at.
  const spent = await Promise.all(
    threads.map((thread) => readFile(`${folder}/${thread}/schedstat`, "utf8").catch(() => "0")),
  );
  return spent.reduce((sum, text) => sum + Number(text.split(" ")[0]) / 1000, 0);
}

/** Resident memory of processes, in bytes. */
export async function residentBytes(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(pids.map(usageOf));
  return each.reduce((sum, { rssBytes }) => sum + rssBytes, 0);
}
