import { readFileSync } from "node:fs";

/** What one process has in memory, in bytes. */
export interface ProcessMemory {
  /** Its own. */
  readonly own: number;
  /** Of files that it has mapped: the kernel can drop and read them again. */
  readonly files: number;
  /** Memory that it shares with others. */
  readonly shared: number;
}

/** Reads the text of /proc/<pid>/status. Undefined when it says nothing of memory, as of a process that has ended. */
export function parseProcessMemory(text: string): ProcessMemory | undefined {
  const [own, files, shared] = ["RssAnon", "RssFile", "RssShmem"].map((name) => fieldOf(text, name));
  if (own === undefined || files === undefined || shared === undefined) return undefined;
  return { own, files, shared };
}

function fieldOf(text: string, name: string): number | undefined {
  const digits = new RegExp(`^${name}:\\s*(\\d+) kB$`, "m").exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits) * 1024;
}

/** Undefined: it has ended, or cannot be asked. */
export function readProcessMemory(pid: number): ProcessMemory | undefined {
  try {
    // At once: the kernel makes this text from memory and waits for nothing.
    return parseProcessMemory(readFileSync(`/proc/${String(pid)}/status`, "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * What several processes of one program hold together. What is shared or mapped is mostly the same in each of them, so that
 * only the largest part of it counts; `withFiles`: what is mapped is needed as much as the rest.
 */
export function heldTogether(processes: readonly ProcessMemory[], withFiles: boolean): number {
  const own = processes.reduce((sum, process) => sum + process.own, 0);
  const shared = Math.max(0, ...processes.map((process) => process.shared));
  const files = withFiles ? Math.max(0, ...processes.map((process) => process.files)) : 0;
  return own + shared + files;
}
