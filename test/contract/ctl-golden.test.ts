import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { CommandSpec } from "../../src/cli/command.ts";
import { loadRoot } from "../../src/cli/root.ts";
import { VERSION } from "../../src/core/version.ts";
import { fixedCluster, NOW } from "../fakes/fixed-cluster.ts";
import { type ScriptedAdmin, scriptedAdmin } from "../fakes/scripted-admin.ts";
import { typed, type Typing } from "../fakes/typed.ts";

// What each verb prints for one cluster that is always the same: a change here is a change for somebody's script.

let admin: ScriptedAdmin;
let folder: string;

beforeAll(async () => {
  admin = await scriptedAdmin(fixedCluster);
  folder = await mkdtemp(join(tmpdir(), "llmgw-golden-"));
  await writeFile(join(folder, "a.yaml"), "kind: Profile\nname: qwen3\nmodel: { source: hf:Qwen/Qwen3-32B }\n");
});

afterAll(async () => {
  await admin.stop();
  await rm(folder, { recursive: true });
});

/** With what differs from run to run and from version to version replaced. */
async function ctl(line: string, typing: Typing = {}) {
  const words = line.split(" ").map((word) => word.replace("FILE", join(folder, "a.yaml")));
  const env = { LLMGW_SERVER: admin.url, LLMGW_TOKEN: "t" };
  const { code, stdout, stderr } = await typed(["ctl", ...words], { env, now: NOW, ...typing });
  const steady = (text: string): string =>
    text.replaceAll(admin.url, "http://10.0.0.1:7443").replaceAll(folder, "FOLDER").replaceAll(VERSION, "VERSION");
  return { code, stdout: steady(stdout), stderr: steady(stderr) };
}

/**
 * Of a document what was said: fields that hold nothing are there too, but a field that is new must not be a change for
 * those who do not know it.
 */
function said(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(said);
  if (typeof value !== "object" || value === null) return value;
  const held = Object.entries(value).map(([name, field]) => [name, said(field)] as const);
  return Object.fromEntries(held.filter(([, field]) => !isNothing(field)));
}

const isNothing = (value: unknown): boolean =>
  [0, "", false, null].some((nothing) => nothing === value) ||
  (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** Verbs whose stdout is the same in every form but table and documents. */
const PAGES = [
  "status",
  "explain qwen3-9d2e",
  "explain req-5b1e",
  "rollout status qwen3",
  "rollout undo qwen3",
  "cordon gpu-a-01",
  "uncordon gpu-a-01",
  "drain gpu-a-01",
  "scale qwen3 3",
  "restart qwen3",
  "delete profile qwen3",
  "delete node gpu-a-01",
  "apply --plan -f FILE",
  "diff -f FILE",
  "export",
  "wait node/gpu-a-01",
  "wait model/qwen3",
  "keys create laptop --rpm 60",
  "keys revoke laptop",
  "token create --uses 3",
  "token revoke alice",
  "version",
];
const LISTS = [
  "nodes",
  "nodes gpu-b-01",
  "profiles",
  "profiles qwen3",
  "replicas",
  "replicas --profile qwen3",
  "replicas qwen3-7f3a",
  "models",
  "ps",
  "engines",
  "weights",
  "events",
  "events --subject node/gpu-b-01",
  "keys list",
  "token list",
  "usage",
  "apply -f FILE",
  "run hf:Qwen/Qwen3-32B --name qwen3 --detach",
];
const PLAIN = ["logs qwen3-7f3a --tail 2", "completion bash", "completion zsh", "completion fish"];

describe("golden", () => {
  test.each([
    ...PAGES.flatMap((line) => [line, `${line} -o json`]),
    ...LISTS.flatMap((line) => ["", " -o wide", " -o json", " -o name"].map((form) => line + form)),
    ...PLAIN,
  ])("llmgw ctl %s", async (line) => {
    const { code, stdout, stderr } = await ctl(line);
    const isJson = line.endsWith("json") && code < 2;
    const shown = isJson ? `${JSON.stringify(said(JSON.parse(stdout)), undefined, 2)}\n` : stdout;
    expect(`exit ${String(code)}\n${shown}${stderr === "" ? "" : `--- stderr\n${stderr}`}`).toMatchSnapshot();
  });
});

test("-o json has every field, those that hold nothing too: a script needs no defaults of its own", async () => {
  const { profiles } = JSON.parse((await ctl("profiles -o json")).stdout) as { profiles: readonly object[] };
  expect(profiles[0]).toMatchObject({ ready: 0, specHash: "0c1d2e3f" });
  const { replicas } = JSON.parse((await ctl("replicas -o json")).stdout) as { replicas: readonly object[] };
  expect(replicas[0]).toMatchObject({ lastLines: [], restarts: 0, pid: 0 });
});

test.each([...PAGES, ...LISTS])("llmgw ctl %s -o yaml says what -o json says", async (line) => {
  const [json, yaml] = [await ctl(`${line} -o json`), await ctl(`${line} -o yaml`)];
  expect(yaml.code).toBe(json.code);
  // The one whose own form is YAML.
  if (line !== "export") expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
});

describe("on a terminal", () => {
  const columns = [40, 80];
  const lines = [...PAGES.filter((line) => /^(status|explain|rollout status)/.test(line)), ...LISTS];
  test.each(lines.flatMap((line) => columns.map((width) => ({ line, width }))))(
    "llmgw ctl $line: no line of a table is wider than $width columns, and nothing is drawn that stays open",
    async ({ line, width }) => {
      if (line === "nodes gpu-b-01") return;
      const { stdout } = await ctl(line, { terminal: { columns: width, rows: 50 } });
      const seen = stdout.replaceAll(/\u001b\[[0-9;]*m/g, "");
      // Sentences stand above these two tables.
      const table = /^(explain|rollout)/.test(line) ? seen.slice(seen.indexOf("\n\n")) : seen;
      expect(table.split("\n").filter((one) => one.length > width)).toEqual([]);
      const opened = stdout.match(/\u001b\[(1|3[0-8])m/g)?.length ?? 0;
      expect(stdout.match(/\u001b\[(22|39)m/g)?.length ?? 0).toBe(opened);
    },
  );

  test.each(["NO_COLOR", "TERM"])("no colour with %s", async (name) => {
    const env = { LLMGW_SERVER: admin.url, LLMGW_TOKEN: "t", [name]: name === "TERM" ? "dumb" : "1" };
    const { stdout } = await ctl("nodes", { terminal: { columns: 100, rows: 50 }, env });
    expect(stdout).toContain("gpu-a-01");
    expect(stdout).not.toContain("\u001b");
  });

  test("delete asks, and anything but yes leaves everything as it is", async () => {
    const terminal = { columns: 100, rows: 50 };
    const no = await ctl("delete profile qwen3", { terminal, stdin: "\n" });
    expect(no).toMatchObject({ code: 1, stdout: "" });
    expect(no.stderr).toBe("Delete the profile qwen3, of which 1 replica serves? [y/N] llmgw: Nothing was done.\n");
    expect(await ctl("delete profile qwen3", { terminal, stdin: "yes\n" })).toMatchObject({
      code: 0,
      stdout: "profile/qwen3 deleted\n",
    });
    expect((await ctl("delete node gpu-a-01 --yes", { terminal })).stderr).not.toContain("?");
  });
});

test("every verb has its golden output, here or in ctl-golden-files.test.ts", async () => {
  const folder = join(import.meta.dirname, "__snapshots__");
  const kept = ["ctl-golden.test.ts.snap", "ctl-golden-files.test.ts.snap"].map((name) => join(folder, name));
  const text = (await Promise.all(kept.map((path) => readFile(path, "utf8")))).join();
  const root = await loadRoot(["ctl"]);
  const leaves = (spec: CommandSpec, path: string): readonly string[] =>
    spec.commands === undefined
      ? [path]
      : spec.commands.flatMap((child) => (child.hidden === true ? [] : leaves(child, `${path} ${child.name}`)));
  const verbs = (root.commands ?? []).filter(({ name }) => name === "ctl").flatMap((spec) => leaves(spec, "llmgw ctl"));
  expect(verbs.length).toBeGreaterThan(40);
  expect(verbs.filter((verb) => !text.includes(`${verb} `))).toEqual([]);
});
