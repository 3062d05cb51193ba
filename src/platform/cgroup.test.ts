import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  cgroupMembers,
  findCgroupHomes,
  findCgroups,
  joinCgroup,
  killCgroup,
  memoryLimitOf,
  ownGroups,
  removeCgroup,
  sweepCgroups,
} from "./cgroup.ts";

const V2 = "31 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const V1 = [
  "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755",
  "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
  "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct",
  "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids",
].join("\n");

describe("where this process is", () => {
  test.each([
    {
      name: "a unit on a system with v2",
      mountinfo: V2,
      cgroup: "0::/system.slice/llmgw-agent.service\n",
      want: ["/sys/fs/cgroup/system.slice/llmgw-agent.service"],
    },
    {
      name: "v1, the memory hierarchy first",
      mountinfo: V1,
      cgroup: "8:pids:/user\n4:memory:/a/b\n3:cpu,cpuacct:/\n",
      want: ["/sys/fs/cgroup/memory/a/b"],
    },
    {
      name: "both, as on a hybrid system",
      mountinfo: `${V1}\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n`,
      cgroup: "4:memory:/\n0::/x\n",
      want: ["/sys/fs/cgroup/unified/x", "/sys/fs/cgroup/memory"],
    },
    {
      name: "a container that sees its own part only",
      mountinfo: "9 8 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
      cgroup: "0::/docker/abc/leaf\n",
      want: ["/sys/fs/cgroup/leaf"],
    },
    { name: "a group above what is mounted", mountinfo: V2, cgroup: "0::/../other\n", want: [] },
    { name: "no cgroups", mountinfo: "1 1 0:1 / / rw - ext4 /dev/sda rw\n", cgroup: "", want: [] },
    { name: "no sense", mountinfo: "x - \n\0", cgroup: "::\n0:", want: [] },
  ])("$name", ({ mountinfo, cgroup, want }) => {
    expect(ownGroups(mountinfo, cgroup).map(({ folder }) => folder)).toEqual(want);
  });
});

describe("a limit of memory", () => {
  const gib = 1024 ** 3;
  test.each<{ name: string; version: 1 | 2; files: Readonly<Record<string, string>>; want: unknown }>([
    {
      name: "on v2, without what would be dropped at once",
      version: 2,
      files: {
        "memory.max": `${String(8 * gib)}\n`,
        "memory.current": `${String(3 * gib)}\n`,
        "memory.stat": `anon 1\ninactive_file ${String(gib)}\n`,
      },
      want: { limit: 8 * gib, used: 2 * gib },
    },
    { name: "none on v2", version: 2, files: { "memory.max": "max\n", "memory.current": "1\n" }, want: undefined },
    {
      name: "on v1, with the groups below",
      version: 1,
      files: {
        "memory.limit_in_bytes": `${String(8 * gib)}\n`,
        "memory.usage_in_bytes": `${String(3 * gib)}\n`,
        "memory.stat": `inactive_file 1\ntotal_inactive_file ${String(gib)}\n`,
      },
      want: { limit: 8 * gib, used: 2 * gib },
    },
    {
      name: "none on v1",
      version: 1,
      files: { "memory.limit_in_bytes": "9223372036854771712\n", "memory.usage_in_bytes": "1\n" },
      want: undefined,
    },
    { name: "a folder that is no group", version: 2, files: {}, want: undefined },
    { name: "rubbish", version: 2, files: { "memory.max": "\0much" }, want: undefined },
  ])("$name", async ({ version, files, want }) => {
    const folder = await mkdtemp(join(tmpdir(), "llmgw-cgroup-"));
    try {
      for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
      expect(await memoryLimitOf(folder, version)).toEqual(want);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

const homes = await findCgroupHomes();

describe.skipIf(homes.length === 0)("a real group (skipped where this user cannot make one)", () => {
  const name = `llmgw-test-${String(process.pid)}`;
  let folders: readonly string[] = [];
  afterEach(async () => {
    await removeCgroup(folders);
  });

  test("holds what its first process starts, whatever that makes of itself, and is removed when it is empty", async () => {
    const script = 'read go; setsid env -i /bin/sh -c "echo up; exec sleep 60" & wait';
    const child = spawn("sh", ["-c", script], { stdio: ["pipe", "pipe", "ignore"], detached: true });
    folders = await joinCgroup(homes, name, child.pid ?? 0);
    expect(folders).toHaveLength(homes.length);
    child.stdin.write("go\n");
    await once(child.stdout, "data");
    expect((await cgroupMembers(folders)).size).toBeGreaterThan(1);
    await removeCgroup(folders);
    expect(existsSync(folders[0] ?? "")).toBe(true);
    await killCgroup(folders);
    for (const pid of await cgroupMembers(folders)) process.kill(pid, "SIGKILL");
    await expect.poll(() => cgroupMembers(folders)).toEqual(new Set());
    await removeCgroup(folders);
    expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
  });

  test("that is left empty is swept once it is old, and none that has members", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    const inUse = await joinCgroup(homes, `${name}-used`, child.pid ?? 0);
    const empty = homes.map((home) => join(home, `${name}-empty`));
    await Promise.all(empty.map((folder) => mkdir(folder)));
    try {
      expect(await findCgroups(homes, `${name}-empty`)).toEqual(empty);
      await sweepCgroups(homes, Date.now() - 60_000);
      expect(await findCgroups(homes, `${name}-empty`)).toEqual(empty);
      await sweepCgroups(homes, Date.now() + 60_000);
      expect(await findCgroups(homes, `${name}-empty`)).toEqual([]);
      expect(await findCgroups(homes, `${name}-used`)).toEqual(inUse);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
      await removeCgroup([...inUse, ...empty]);
    }
  });

  test("that is gone has no members", async () => {
    expect(await cgroupMembers(["/nowhere/at/all"])).toEqual(new Set());
  });
});
