import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster, freePort } from "./cluster.ts";
import { finished, llmgw } from "./process.ts";
import { until } from "./wait.ts";

const LAUNCHER = resolve(import.meta.dirname, "../../bin/llmgw");
const ESCAPE = "\u001b";

let dir: string;
/** A person without any context file. */
let alone: Readonly<Record<string, string>>;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-cli-"));
  alone = { XDG_CONFIG_HOME: join(dir, "config"), LLMGW_SERVER: "", LLMGW_TOKEN: "", NO_COLOR: "" };
});

afterAll(async () => {
  await rm(dir, { recursive: true, force: true });
});

describe("the command line without a control plane", () => {
  test("help, version and bad usage as a process sees them", async () => {
    const [version, group, typo] = await Promise.all([
      finished(["--version"], { env: alone }),
      finished(["ctl"], { env: alone }),
      finished(["ctl", "nodes", "--wach"], { env: alone }),
    ]);
    expect(version).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
      stderr: "",
    });
    expect(group).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/Usage: llmgw ctl/) as string });
    expect(typo).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("Did you mean --watch") as string,
    });
  });

  test("every problem of every manifest is named, with file and line, and nothing is sent", async () => {
    const [a, b] = [join(dir, "a.yaml"), join(dir, "b.yaml")];
    await writeFile(a, "kind: Profile\nname: a\nmodle:\n  source: 'tiny:'\nreplicas: -1\n");
    await writeFile(b, "kind: Profil\n");
    const done = await finished(["ctl", "apply", "-f", a, "-f", b], { env: alone });
    expect(done.code).toBe(2);
    for (const part of [`${a}:3`, `${a}:5`, `${b}:1`, "model", "Profile"]) expect(done.stderr).toContain(part);
  });

  test.each(["server", "agent"])(
    "llmgw %s --check: every mistake at once and exit 2, else what is in force",
    async (role) => {
      const file = join(dir, `${role}.yaml`);
      await writeFile(file, "listn: 7443\nserver:\t1\nheartbeat_interval: 5 seconds\n");
      const wrong = await finished([role, "-c", file, "--check"], { env: alone });
      expect(wrong.code).toBe(2);
      expect(wrong.stderr).toContain(`${file}:1`);
      expect(wrong.stderr).toContain(`${file}:2`);

      await writeFile(file, role === "server" ? "" : 'server: "http://127.0.0.1:7443"\njoin_token: very-secret\n');
      const right = await finished([role, "-c", file, "--check", "--data-dir", join(dir, "d")], { env: alone });
      expect({ code: right.code, stderr: right.stderr }).toEqual({ code: 0, stderr: "" });
      expect(right.stdout).toContain(join(dir, "d"));
      expect(right.stdout).not.toContain("very-secret");
      await expect(stat(join(dir, "d"))).rejects.toThrow();
    },
  );
});

describe("llmgw ctl", () => {
  let cluster: Cluster;
  let env: Readonly<Record<string, string>>;
  const ctl = (...args: readonly string[]) => finished(["ctl", ...args], { env });

  beforeAll(async () => {
    cluster = await Cluster.start();
    env = { ...alone, ...cluster.ctlEnv };
    await until("the node", async () => (await ctl("nodes", "-o", "name")).stdout.includes("node/node-a"));
  });

  afterAll(async () => {
    await cluster.stop();
  });

  test("run, and everything that can be asked of what runs", async () => {
    const run = await ctl("run", "tiny:", "--context-length", "2048", "--timeout", "60s");
    expect(run.code, run.stderr).toBe(0);
    expect(run.stdout).toContain("profile/tiny created");

    const answer = await ctl("chat", "tiny", "Hello", "--max-tokens", "4", "-o", "json");
    expect(answer.code, answer.stderr).toBe(0);
    expect(JSON.parse(answer.stdout)).toMatchObject({ object: "chat.completion" });
    expect((await ctl("chat", "tiny", "Hello", "--max-tokens", "4")).code).toBe(0);

    for (const [args, has] of [
      [["status"], "All is well."],
      [["nodes"], "node-a"],
      [["nodes", "node-a"], "llama.cpp"],
      [["profiles"], "tiny"],
      [["replicas"], "ready"],
      [["models"], "1/1"],
      [["ps"], "127.0.0.1:"],
      [["events"], "replica/"],
      [["wait", "profile/tiny", "--timeout", "10s"], "profile/tiny ready"],
      [["wait", "model/tiny", "--timeout", "10s"], "model/tiny ready"],
      [["version"], "server "],
      [["logs", "tiny", "--tail", "5"], "\n"],
    ] as const) {
      const done = await ctl(...args);
      expect({ args, code: done.code, stderr: done.stderr }).toEqual({ args, code: 0, stderr: "" });
      expect(done.stdout).toContain(has);
      expect(done.stdout).not.toContain(ESCAPE);
    }
  });

  test("B148 -o json: stdout is exactly one document, whatever is logged", async () => {
    const verbs = ["status", "nodes", "profiles", "replicas", "models", "ps", "events", "version"];
    const logged = ["-o", "json", "--log-level", "debug", "--log-format", "pretty"];
    const all = await Promise.all(verbs.map(async (verb) => ({ verb, done: await ctl(verb, ...logged) })));
    for (const { verb, done } of all) {
      expect({ verb, code: done.code }).toEqual({ verb, code: 0 });
      expect(typeof JSON.parse(done.stdout)).toBe("object");
      expect(done.stderr).toContain("call");
      expect(done.stdout).not.toContain(ESCAPE);
    }
  });

  test("B149 failures under -o json are one object on stderr, with an exit code of their own", async () => {
    const nobody = `http://127.0.0.1:${String(await freePort())}`;
    const cases = [
      { args: ["nodes", "-o", "json", "--wach"], code: "bad_request", exit: 2 },
      { args: ["profiles", "tinny", "-o", "json"], code: "not_found", exit: 3 },
      { args: ["chat", "tinny", "Hello", "-o", "json"], code: "model_not_found", exit: 3 },
      { args: ["nodes", "-o", "json", "--token", "wrong"], code: "unauthenticated", exit: 5 },
      { args: ["nodes", "-o", "json", "--server", nobody, "--token", "x"], code: "unreachable", exit: 1 },
    ];
    for (const { args, code, exit } of cases) {
      const done = await ctl(...args);
      expect({ args, exit: done.code, stdout: done.stdout }).toEqual({ args, exit, stdout: "" });
      expect(JSON.parse(done.stderr)).toMatchObject({ error: { code, message: expect.any(String) as string } });
    }
  });

  test("an unknown name gets a suggestion", async () => {
    expect((await ctl("profiles", "tinny")).stderr).toContain('Did you mean "tiny"?');
    expect((await ctl("nodes", "node-b")).stderr).toContain('Did you mean "node-a"?');
    expect((await ctl("delete", "profile", "tinny")).code).toBe(3);
    expect((await ctl("logs", "tinny")).stderr).toContain('Did you mean "tiny"?');
  });

  test("apply from stdin, wait that is over, delete", async () => {
    const manifest = "kind: Profile\nname: nowhere\nmodel: { source: 'tiny:' }\nnode_selector: { rack: moon }\n";
    const applied = await finished(["ctl", "apply", "-f", "-", "-o", "name"], { env, input: manifest });
    expect({ code: applied.code, stdout: applied.stdout }).toEqual({ code: 0, stdout: "profile/nowhere\n" });

    const waited = await ctl("wait", "profile/nowhere", "--timeout", "1s");
    expect(waited.code).toBe(4);
    expect(waited.stderr).toContain("moon");

    expect((await ctl("delete", "profile", "nowhere")).stdout).toBe("profile/nowhere deleted\n");
    expect((await ctl("wait", "profile/nowhere", "--for", "deleted", "--timeout", "20s")).code).toBe(0);
  });

  test("B147 a reader that has seen enough is no failure", async () => {
    const profiles = Array.from({ length: 300 }, (_, n) => ({
      kind: "Profile",
      name: `none-${String(n)}`,
      model: { source: "tiny:" },
      replicas: 0,
    }));
    const many = profiles.map((profile) => JSON.stringify(profile)).join("\n---\n");
    expect((await finished(["ctl", "apply", "-f", "-"], { env, input: many })).code).toBe(0);
    const { stdout } = await ctl("profiles", "-o", "json");
    expect(stdout.length).toBeGreaterThan(64 * 1024);

    const script = `set -o pipefail; '${LAUNCHER}' ctl profiles -o json | head -n 1`;
    const piped = spawn("bash", ["-c", script], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    piped.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const [code] = (await once(piped, "close")) as [number];
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("a watch goes on until it is told to end, and ends with 0", async () => {
    const watch = llmgw(["ctl", "nodes", "-w"], env);
    await until("the first rows", () => watch.output().includes("node-a"));
    expect(await watch.end("SIGTERM")).toBe(0);
  });

  test("completion knows commands, options and names", async () => {
    const complete = async (...words: readonly string[]) =>
      (await finished(["complete", "--", ...words], { env })).stdout;
    expect(await complete("ctl", "st")).toBe("status\n");
    expect(await complete("ctl", "nodes", "--wa")).toBe("--watch\n");
    expect(await complete("ctl", "nodes", "")).toBe("node-a\n");
    expect(await complete("ctl", "chat", "ti")).toBe("tiny\n");
  });
});
