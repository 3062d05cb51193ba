import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listProcesses, type ProcessStat } from "../../src/platform/proc.ts";
import { finished, llmgw } from "./process.ts";
import { until } from "./wait.ts";

const MIB = 1024 * 1024;

let dir: string;
let config: string;
let env: Record<string, string>;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-boot-"));
  await mkdir(join(dir, "home"));
  config = join(dir, "agent.yaml");
  await writeFile(config, 'server: "http://127.0.0.1:9"\nnode_id: n1\nmetrics_listen: ""\npeer_listen: ""\n');
  env = { HOME: join(dir, "home"), XDG_CACHE_HOME: "", NODE_COMPILE_CACHE: "" };
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const check = (dataDir: string) =>
  finished(["agent", "-c", config, "--check", "--data-dir", join(dir, dataDir)], { env });

test("what Node made of the program is kept below --data-dir, and nowhere else", async () => {
  expect(await check("kept")).toMatchObject({ code: 0, stderr: "" });
  expect(await readdir(join(dir, "kept"))).toEqual(["cache"]);
  expect(await readdir(join(dir, "kept", "cache"))).toEqual(["filled-for-agents", expect.stringMatching(/^v\d+/)]);
  expect(await readdir(join(dir, "home"))).toEqual([]);
});

test("a folder that cannot be had for it is no hindrance", async () => {
  await mkdir(join(dir, "blocked"));
  await writeFile(join(dir, "blocked", "cache"), "a file");
  expect(await check("blocked")).toMatchObject({ code: 0, stderr: "" });
});

test("a role has kept it by the end of its start, and not while it serves", async () => {
  const file = join(dir, "router.yaml");
  await writeFile(
    file,
    JSON.stringify({ servers: ["http://127.0.0.1:9"], listen: "127.0.0.1:0", auth: "none", metrics_listen: "" }),
  );
  const kept = async (): Promise<number> => (await readdir(join(dir, "router", "cache"), { recursive: true })).length;
  const router = llmgw(["router", "-c", file, "--data-dir", join(dir, "router"), "--log-format", "json"], env);
  try {
    await until("its start", () => router.output().includes("router started"), { seen: () => router.output() });
    await until("the program's files", async () => (await kept()) > 200, { timeoutMs: 5_000 });
  } finally {
    await router.end("SIGKILL");
  }
});

test("an agent is small from its first start on", async () => {
  const agent = llmgw(["agent", "-c", config, "--data-dir", join(dir, "first"), "--log-format", "json"], env);
  try {
    await until("its first try", () => agent.output().includes("cannot be reached"), { seen: () => agent.output() });
    const status = await readFile(`/proc/${String(agent.pid)}/status`, "utf8");
    const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
    expect(resident).toBeGreaterThan(40 * MIB);
    // With the program that strips types it would be 105 MiB and more.
    expect(resident).toBeLessThan(98 * MIB);
  } finally {
    await agent.end();
  }
});

const AS_FIRST = ["--pid", "--fork", "--mount-proc", "--kill-child"];
const cannotBeFirst = spawnSync("unshare", [...AS_FIRST, "true"]).status !== 0;
if (cannotBeFirst) console.log("skipped: being the first process of a container needs the right to make namespaces");

test.skipIf(cannotBeFirst)(
  "B26 the first process of a container asks for the ends of orphans, and ends politely",
  async () => {
    // The orphan is there when the shell becomes the agent, and ends a moment later.
    const script = '(sleep 1 &); exec "$@"';
    const words = [
      resolve(import.meta.dirname, "../../bin/llmgw"),
      "agent",
      "-c",
      config,
      "--data-dir",
      join(dir, "first"),
    ];
    const outer = spawn("unshare", [...AS_FIRST, "sh", "-c", script, "sh", ...words], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const below = async (parent: number): Promise<readonly ProcessStat[]> =>
      (await listProcesses()).filter((stat) => stat.parent === parent);
    try {
      let output = "";
      outer.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
      await until("its first try", () => output.includes("cannot be reached"), { seen: () => output });
      const [first] = await below(outer.pid ?? 0);
      // Left are the agent alone, and nothing that has ended.
      await until("the orphan's end", async () => (await below(first?.pid ?? 0)).length === 1);
      expect(await below(first?.pid ?? 0)).toMatchObject([{ state: expect.not.stringMatching("Z") as string }]);
      process.kill(first?.pid ?? 0, "SIGTERM");
      expect(await once(outer, "exit")).toEqual([0, null]);
      expect(output).toContain("stopped");
    } finally {
      outer.kill("SIGKILL");
    }
  },
);
