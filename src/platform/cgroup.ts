import { mkdir, readdir, readFile, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isThere } from "./host.ts";

/** The folder of this process's own group in one hierarchy; groups for others are made below it. */
interface OwnGroup {
  readonly version: 1 | 2;
  readonly folder: string;
}

/** A v1 hierarchy is one controller. One is enough to know the members; memory also tells of kills for want of it. */
const V1_CONTROLLERS = ["memory", "pids", "freezer"] as const;

/** Where the texts of /proc/self/mountinfo and /proc/self/cgroup say that this process is; v2 first. */
export function ownGroups(mountinfo: string, cgroup: string): readonly OwnGroup[] {
  const mounts = mountinfo.split("\n").flatMap(mountOf);
  const paths = cgroup.split("\n").flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    // A path above the mount's own root cannot be reached from here.
    return controllers === undefined || path === undefined || path.startsWith("/..") ? [] : [{ controllers, path }];
  });
  const found = (version: 1 | 2, controller: string): readonly OwnGroup[] => {
    const mount = mounts.find((one) => one.version === version && one.options.includes(controller));
    const own = paths.find(({ controllers }) => controllers.split(",").includes(controller));
    const folder = mount === undefined || own === undefined ? undefined : folderIn(mount, own.path);
    return folder === undefined ? [] : [{ version, folder }];
  };
  return [...found(2, ""), ...V1_CONTROLLERS.flatMap((controller) => found(1, controller)).slice(0, 1)];
}

interface Mount {
  readonly version: 1 | 2;
  readonly root: string;
  readonly point: string;
  readonly options: readonly string[];
}

function mountOf(line: string): readonly Mount[] {
  const [before, after] = line.split(" - ");
  const [, , , root, point] = (before ?? "").split(" ");
  const [type, , options] = (after ?? "").split(" ");
  if (root === undefined || point === undefined) return [];
  if (type === "cgroup2") return [{ version: 2, root, point, options: [""] }];
  return type === "cgroup" ? [{ version: 1, root, point, options: (options ?? "").split(",") }] : [];
}

/** A container sees only the part of the hierarchy below the mount's root. */
function folderIn({ root, point }: Mount, path: string): string | undefined {
  if (root === "/") return resolve(join(point, path));
  if (path !== root && !path.startsWith(`${root}/`)) return path === "/" ? point : undefined;
  return resolve(join(point, path.slice(root.length)));
}

/** What the names of all groups begin with that agents make. */
export const CGROUP_PREFIX = "llmgw-";

/** A unit that names its sub-group so (DelegateSubgroup=) keeps the rest of what it was given free for engines. */
const AGENT_SUBGROUP = "agent";

/** The folders that groups of engines can be made in; none where this user may not, or there are no cgroups. */
export async function findCgroupHomes(): Promise<readonly string[]> {
  const [mountinfo, cgroup] = await Promise.all([textOf("/proc/self/mountinfo"), textOf("/proc/self/cgroup")]);
  const homes = ownGroups(mountinfo, cgroup).map(({ version, folder }) =>
    version === 2 && basename(folder) === AGENT_SUBGROUP ? dirname(folder) : folder,
  );
  const usable = await Promise.all(homes.map(isUsable));
  const found = homes.filter((_, index) => usable[index]);
  // Only in a folder of which no process is a direct member, as the unit's sub-group makes it: elsewhere it is refused.
  for (const home of found) await attempt(() => writeFile(join(home, "cgroup.subtree_control"), "+memory +pids"));
  return found;
}

async function isUsable(home: string): Promise<boolean> {
  const folder = join(home, `${CGROUP_PREFIX}try-${String(process.pid)}`);
  return (await attempt(() => mkdir(folder))) && (await attempt(() => rmdir(folder)));
}

/** Makes a group of that name in each home and puts the process, and with it whatever it starts from now on, into it. */
export async function joinCgroup(homes: readonly string[], name: string, pid: number): Promise<readonly string[]> {
  const folders = homes.map((home) => join(home, name));
  const joined = await Promise.all(
    folders.map(async (folder) => {
      await attempt(() => mkdir(folder));
      return attempt(() => writeFile(join(folder, "cgroup.procs"), String(pid)));
    }),
  );
  return folders.filter((_, index) => joined[index]);
}

/** The groups of that name that there are. */
export async function findCgroups(homes: readonly string[], name: string): Promise<readonly string[]> {
  const folders = homes.map((home) => join(home, name));
  const there = await Promise.all(folders.map(isThere));
  return folders.filter((_, index) => there[index]);
}

/**
 * Removes groups of ours that nobody is in any more, such as a killed agent leaves. One that was made at or after `since`, ms of
 * the wall clock, may be about to be joined, and stays; the kernel itself refuses to remove one with members.
 */
export async function sweepCgroups(homes: readonly string[], since: number): Promise<void> {
  for (const home of homes) {
    const names = await readdir(home).catch(() => []);
    const folders = names.filter((name) => name.startsWith(CGROUP_PREFIX)).map((name) => join(home, name));
    for (const folder of folders) {
      const made = await stat(folder).then(
        ({ ctimeMs }) => ctimeMs,
        () => Infinity,
      );
      if (made < since) await attempt(() => rmdir(folder));
    }
  }
}

/** The pids of all processes in the groups; what has no group any more has no members. */
export async function cgroupMembers(folders: readonly string[]): Promise<ReadonlySet<number>> {
  const texts = await Promise.all(folders.map((folder) => textOf(join(folder, "cgroup.procs"))));
  return new Set(texts.flatMap((text) => text.split("\n").filter(Boolean).map(Number)));
}

/** Kills every member at once, where the kernel can do so (v2, Linux 5.14); the caller looks at what is left. */
export async function killCgroup(folders: readonly string[]): Promise<void> {
  for (const folder of folders) await attempt(() => writeFile(join(folder, "cgroup.kill"), "1"));
}

/** Removes the groups; one that still has members stays. */
export async function removeCgroup(folders: readonly string[]): Promise<void> {
  for (const folder of folders) await attempt(() => rmdir(folder));
}

/** What a group may use at most, and what it uses now, in bytes, without what the kernel would drop at once. */
export interface MemoryLimit {
  readonly limit: number;
  readonly used: number;
}

/** The limits that hold for this process and whatever it starts: those of its group and of every group above it that can be seen. */
export async function readMemoryLimits(): Promise<readonly MemoryLimit[]> {
  const [mountinfo, cgroup] = await Promise.all([textOf("/proc/self/mountinfo"), textOf("/proc/self/cgroup")]);
  const limits: MemoryLimit[] = [];
  for (const { version, folder } of ownGroups(mountinfo, cgroup)) {
    // A folder without that file is above the hierarchy.
    for (let at = folder; await isThere(join(at, "cgroup.procs")); at = dirname(at)) {
      const limit = await memoryLimitOf(at, version);
      if (limit !== undefined) limits.push(limit);
    }
  }
  return limits;
}

const LIMIT_FILES = {
  1: ["memory.limit_in_bytes", "memory.usage_in_bytes"],
  2: ["memory.max", "memory.current"],
} as const;

/** Undefined: the folder is no group, or has no limit. */
export async function memoryLimitOf(folder: string, version: OwnGroup["version"]): Promise<MemoryLimit | undefined> {
  const [limitFile, usedFile] = LIMIT_FILES[version];
  const max = await textOf(join(folder, limitFile));
  // "max" on v2; on v1 a number so large that it is none.
  if (!/^\d+\n?$/.test(max) || Number(max) > Number.MAX_SAFE_INTEGER) return undefined;
  const [current, stat] = await Promise.all([textOf(join(folder, usedFile)), textOf(join(folder, "memory.stat"))]);
  // v1 has its own sum for the groups below beside the group's alone.
  const idle = /^total_inactive_file (\d+)$/m.exec(stat) ?? /^inactive_file (\d+)$/m.exec(stat);
  return { limit: Number(max), used: Math.max(0, Number(current) - Number(idle?.[1] ?? 0)) };
}

/** How many members the kernel killed for want of memory; undefined where the groups do not tell. */
export async function memoryKills(folders: readonly string[]): Promise<number | undefined> {
  const files = folders.flatMap((folder) => [join(folder, "memory.events"), join(folder, "memory.oom_control")]);
  const counts = (await Promise.all(files.map(textOf))).flatMap((text) => {
    const count = /^oom_kill (\d+)$/m.exec(text)?.[1];
    return count === undefined ? [] : [Number(count)];
  });
  return counts.length === 0 ? undefined : Math.max(...counts);
}

const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

/** Whether it could be done. Groups make things better where they can be had; nothing rests on one alone. */
async function attempt(act: () => Promise<unknown>): Promise<boolean> {
  return act().then(
    () => true,
    () => false,
  );
}

/** The same for the whole machine since its boot; undefined where the kernel does not count. */
export async function systemMemoryKills(): Promise<number | undefined> {
  const count = /^oom_kill (\d+)$/m.exec(await textOf("/proc/vmstat"))?.[1];
  return count === undefined ? undefined : Number(count);
}
