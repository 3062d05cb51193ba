import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { messageOf } from "../core/errors.ts";
import { isErrno } from "./files.ts";

/** What /proc/<pid>/stat says of a process. */
export interface ProcessStat {
  readonly pid: number;
  /** R running, S sleeping, D waiting for a device, Z ended but not asked for, … */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly threads: number;
  /** Clock ticks between boot and its start; with pid and boot it names one process for ever. */
  readonly startTicks: number;
}

export type ProcessLook =
  | { readonly kind: "there"; readonly stat: ProcessStat }
  | { readonly kind: "gone" }
  /** Not to be taken for gone. */
  | { readonly kind: "unknown"; readonly why: string };

/**
 * Whether nothing of the process runs any more, although its number is still taken. Of a process with threads the first
 * may have ended while others still run, or still give back memory and ports: that one has not.
 */
export const hasEnded = ({ state, threads }: ProcessStat): boolean => state === "X" || (state === "Z" && threads <= 1);

/** Undefined for anything but a line of /proc/<pid>/stat. */
export function parseProcessStat(text: string): ProcessStat | undefined {
  // The second field is the program's name in parentheses, and a name may hold spaces and parentheses itself.
  const open = text.indexOf(" (");
  const close = text.lastIndexOf(") ");
  if (open < 0 || close < open) return undefined;
  const fields = text.slice(close + 2).split(" ");
  const field = (number: number): number => Number(fields[number - 3]);
  const stat = {
    pid: Number(text.slice(0, open)),
    state: fields[0] ?? "",
    parent: field(4),
    group: field(5),
    session: field(6),
    threads: field(20),
    startTicks: field(22),
  };
  const numbers = [stat.pid, stat.parent, stat.group, stat.session, stat.threads, stat.startTicks];
  return numbers.every(Number.isSafeInteger) && stat.state.length === 1 ? stat : undefined;
}

export async function lookAtProcess(pid: number): Promise<ProcessLook> {
  try {
    // At once, without a thread for each step of it: the kernel makes this text from memory and waits for nothing.
    const stat = parseProcessStat(readFileSync(`/proc/${String(pid)}/stat`, "utf8"));
    return stat === undefined
      ? { kind: "unknown", why: `/proc/${String(pid)}/stat is not understood` }
      : { kind: "there", stat };
  } catch (error) {
    // ESRCH: it ended between the opening of the file and the reading.
    if (isErrno(error, "ESRCH")) return { kind: "gone" };
    if (isErrno(error, "ENOENT")) return (await procIsReadable()) ? { kind: "gone" } : noProc;
    return { kind: "unknown", why: messageOf(error) };
  }
}

const noProc = { kind: "unknown", why: "/proc is not mounted, so no process can be looked at" } as const;

const procIsReadable = async (): Promise<boolean> => (await lookAtProcFile("self/stat")) !== undefined;

async function lookAtProcFile(name: string): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${name}`, "utf8");
  } catch {
    return undefined;
  }
}

/** New at each boot of the machine; undefined when the machine does not say. */
export async function readBootId(): Promise<string | undefined> {
  const text = (await lookAtProcFile("sys/kernel/random/boot_id"))?.trim();
  return text === "" ? undefined : text;
}

/** Every process that can be seen. Those that end meanwhile are left out. */
export async function listProcesses(): Promise<readonly ProcessStat[]> {
  const names = await readdir("/proc");
  const looks = await Promise.all(
    names.filter((name) => /^\d+$/.test(name)).map((name) => lookAtProcess(Number(name))),
  );
  return looks.flatMap((look) => (look.kind === "there" ? [look.stat] : []));
}

/** The words that a process was started with, as far as it has not changed them; none when it cannot be asked. */
export async function readArguments(pid: number): Promise<readonly string[]> {
  const text = (await lookAtProcFile(`${String(pid)}/cmdline`)) ?? "";
  return text === "" ? [] : text.replace(/\0$/, "").split("\0");
}

/** The environment that a process was started with, as far as it has not overwritten it; empty when it cannot be asked. */
export async function readEnvironment(pid: number): Promise<Readonly<Record<string, string>>> {
  const text = (await lookAtProcFile(`${String(pid)}/environ`)) ?? "";
  const entries = text.split("\0").flatMap((entry) => {
    const at = entry.indexOf("=");
    return at > 0 ? [[entry.slice(0, at), entry.slice(at + 1)] as const] : [];
  });
  return Object.fromEntries(entries);
}

/**
 * The processes whose environment holds `NAME=value`, what has ended left out. Only those of this user can be asked (root can ask
 * all), which is enough: nobody else started ours.
 */
export async function findByEnvironment(name: string, value: string): Promise<readonly ProcessStat[]> {
  const wanted = `${name}=${value}`;
  const alive = (await listProcesses()).filter((stat) => !hasEnded(stat));
  const carries = await Promise.all(
    alive.map(async ({ pid }) => {
      const environment = await lookAtProcFile(`${String(pid)}/environ`);
      return environment?.split("\0").includes(wanted) ?? false;
    }),
  );
  return alive.filter((_, index) => carries[index]);
}
