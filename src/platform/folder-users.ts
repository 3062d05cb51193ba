import { readdir, readFile, readlink, realpath } from "node:fs/promises";

/**
 * The processes that run or have loaded something below the folder, or work in it; "unknown" when processes cannot be looked
 * at. A title that a process gave itself hides nothing: what it has mapped is asked too.
 */
export async function usersOf(folder: string): Promise<readonly number[] | "unknown"> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  if (pids.length === 0) return "unknown";
  const real = await realpath(folder).catch(() => folder);
  const places = [...new Set([folder, real])].map((place) => `${place}/`);
  const found: number[] = [];
  for (const pid of pids) if (await uses(pid, places)) found.push(pid);
  return found;
}

async function uses(pid: number, places: readonly string[]): Promise<boolean> {
  const proc = `/proc/${String(pid)}`;
  // Of another user's process only the command line is told; of one that has just ended nothing.
  const texts = await Promise.all([
    readFile(`${proc}/cmdline`, "utf8").catch(() => ""),
    readlink(`${proc}/exe`).catch(() => ""),
    readlink(`${proc}/cwd`).then(
      (cwd) => `${cwd}/`,
      () => "",
    ),
    readFile(`${proc}/maps`, "utf8").catch(() => ""),
  ]);
  return texts.some((text) => places.some((place) => text.includes(place)));
}
