import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";

const TICKS_PER_SECOND = 100;

/** What a process holds and has used. */
interface Usage {
  readonly rssBytes: number;
  /** Of the resident memory: pages of files, above all of Node's own program. Processes of one Node share them. */
  readonly fileBytes: number;
  readonly cpuMs: number;
}

/** Of the process with its ended children. */
export async function usageOf(pid: number): Promise<Usage> {
  const status = await readFile(`/proc/${String(pid)}/status`, "utf8");
  const fields = (await readFile(`/proc/${String(pid)}/stat`, "utf8")).split(") ").at(-1)?.split(" ") ?? [];
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
  return { rssBytes: bytesOf("VmRSS"), fileBytes: bytesOf("RssFile"), cpuMs: (ticks * 1000) / TICKS_PER_SECOND };
}

/** What Node takes that runs nothing. */
export async function bareNode(): Promise<Usage> {
  const child = spawn(process.execPath, ["--eval", "process.stdout.write('up'); setInterval(() => undefined, 1e9)"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    await new Promise((resolve) => child.stdout.once("data", resolve));
    return await usageOf(child.pid ?? 0);
  } finally {
    child.kill("SIGKILL");
  }
}
