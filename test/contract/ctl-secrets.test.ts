import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ScriptedAgent } from "../fakes/scripted-agent.ts";
import { typed } from "../fakes/typed.ts";
import { agent, site, soon, states } from "./callers.ts";
import { overSockets, type Site } from "./site.ts";

const run = promisify(execFile);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-secrets-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Secrets that a person could have put into a profile or a configuration. */
const PLANTED = {
  hfToken: "hf_PlantedPlantedPlanted1234",
  oddToken: "planted-odd-name-5678",
  oldToken: "planted-old-value-2468",
  optionKey: "planted-option-key-9012",
  mirror: "planted-mirror-pass-3456",
  proxy: "planted-proxy-pass-7890",
  upstream: "sk-planted-upstream-1357",
  cloud: "planted/aws+secret=1122",
};

const profile = (odd: string): string =>
  [
    "kind: Profile",
    "name: smol",
    "model: { source: hf:a/b }",
    `args: ["--api-key", "${PLANTED.optionKey}", "--threads", "2"]`,
    "env:",
    `  HF_TOKEN: ${PLANTED.hfToken}`,
    `  MY_SERVICE_PASSWORD: ${odd}`,
    `  AWS_SECRET_ACCESS_KEY: "${PLANTED.cloud}"`,
    "  VLLM_LOGGING_LEVEL: INFO",
  ].join("\n");

interface Stage {
  readonly on: Site;
  readonly one: ScriptedAgent;
  /** Of this run: made by the control plane. */
  readonly made: Readonly<Record<string, string>>;
}

/** A cluster in which an engine has failed that prints everything it was ever told. */
async function stage(): Promise<Stage> {
  const yaml = [`engines: { llama.cpp: { version: b1, source: "https://bob:${PLANTED.mirror}@mirror.example/l" } }`];
  const on = await site(overSockets, { yaml });
  const clientKey = (await on.admin.createKey({ name: "laptop" })).secret;
  const joinToken = (await on.admin.createToken({ ttlSeconds: 600, grant: { case: "join", value: { uses: 1 } } }))
    .secret;
  const userToken = (
    await on.admin.createToken({ ttlSeconds: 600, grant: { case: "user", value: { name: "alice", role: "operator" } } })
  ).secret;
  await on.admin.apply({ manifest: profile(PLANTED.oldToken) });
  await on.admin.apply({ manifest: profile(PLANTED.oddToken) });
  const problem = `the mirror http://bob:${PLANTED.proxy}@proxy:3128 does not answer`;
  const one = agent(on, { node: "n1", inventory: { problems: [problem], notes: [problem], labels: { rack: "r1" } } });
  await expect.poll(() => one.desired?.replicas.length, soon).toBe(1);
  const replicaKey = one.desired?.replicas[0]?.apiKey ?? "";
  const made = { adminToken: on.token, clientKey, joinToken, userToken, replicaKey };
  one.observe(() => ({ kind: "failed", reason: `it said: ${chatter(made).join(" ")}`, lastLines: chatter(made) }));
  await expect.poll(() => states(on), soon).toEqual(["failed"]);
  return { on, one, made };
}

/** An engine's output with every secret in some form that engines and libraries print. */
const chatter = (made: Stage["made"]): string[] => [
  `args: Namespace(api_key='${made["replicaKey"] ?? ""}', port=1)`,
  `environ({'HF_TOKEN': '${PLANTED.hfToken}', 'X': '${PLANTED.oddToken}', 'OLD': '${PLANTED.oldToken}'})`,
  `--api-key ${PLANTED.optionKey} --threads 2; before: ${PLANTED.cloud}`,
  `GET /v1/models Authorization: Bearer ${made["clientKey"] ?? ""} 401`,
  `token ${made["joinToken"] ?? ""} and ${made["userToken"] ?? ""} and ${made["adminToken"] ?? ""}`,
  `proxy http://bob:${PLANTED.proxy}@proxy:3128 upstream api_key=${PLANTED.upstream}`,
];

/** Every text in which one of the secrets stands, with the secret's name. */
function leaks(
  texts: Readonly<Record<string, string>>,
  made: Stage["made"],
  planted: Readonly<Record<string, string>> = PLANTED,
): readonly string[] {
  const secrets = Object.entries({ ...planted, ...made });
  expect(secrets.filter(([, secret]) => secret.length < 12)).toEqual([]);
  return Object.entries(texts).flatMap(([where, text]) =>
    secrets.flatMap(([name, secret]) => {
      const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), btoa(secret)];
      return forms.some((form) => text.includes(form)) ? [`${name} in ${where}`] : [];
    }),
  );
}

const ctl = (on: Site, ...words: readonly string[]) =>
  typed(["ctl", ...words], { env: { LLMGW_SERVER: on.url ?? "", LLMGW_TOKEN: on.token } });

/** Answers the next request for a log with everything that the engine could have printed. */
async function answerLog(one: ScriptedAgent, made: Stage["made"]): Promise<void> {
  const asked = () => one.received.flatMap(({ body }) => (body.case === "logRequest" ? [body.value.requestId] : []));
  const before = asked().length;
  await expect.poll(() => asked().length, soon).toBeGreaterThan(before);
  one.say({ case: "logChunk", value: { requestId: asked().at(-1) ?? 0, lines: chatter(made), done: true } });
}

async function unpacked(file: string): Promise<Readonly<Record<string, string>>> {
  await run("tar", ["-xzf", file, "-C", folder]);
  const names = await readdir(join(folder, "llmgw-debug"), { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(
    files.map(async (path) => [path.slice(folder.length + 13), await readFile(path, "utf8")]),
  );
  return Object.fromEntries(texts) as Record<string, string>;
}

describe("a support bundle", () => {
  test("holds what is needed and none of the secrets that were planted everywhere", async () => {
    const { on, one, made } = await stage();
    const file = join(folder, "bundle.tar.gz");
    const [done] = await Promise.all([ctl(on, "debug", file, "--tail", "50"), answerLog(one, made)]);
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining("Look through it") as string });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const texts = await unpacked(file);
    const log = Object.keys(texts).find((name) => name.startsWith("logs/smol-")) ?? "";
    expect(Object.keys(texts).toSorted()).toEqual(
      [
        "about.txt",
        "client.json",
        "configuration.yaml",
        "engines.json",
        "events.json",
        "keys.json",
        log,
        "metrics.txt",
        "models.json",
        "nodes.json",
        "profiles.json",
        "replicas.json",
        "rollouts/smol.json",
        "status.json",
        "upstreams.json",
        "versions.json",
        "weights.json",
      ].toSorted(),
    );
    expect(leaks(texts, made)).toEqual([]);
    expect(leaks({ stdout: done.stdout, stderr: done.stderr }, made)).toEqual([]);
    // It is still of use.
    for (const [name, text] of Object.entries(texts)) {
      expect({ name, text }).not.toMatchObject({ text: "" });
      expect(text).not.toContain("This part could not be had");
      if (name.endsWith(".json")) expect(() => JSON.parse(text) as unknown, name).not.toThrow();
    }
    expect(texts["metrics.txt"]).toContain('llmgw_replicas{profile="smol",state="failed"} 1');
    expect(texts["configuration.yaml"]).toMatch(/source: "?https:\/\/\[hidden\]@mirror\.example/);
    expect(texts["profiles.json"]).toContain('"VLLM_LOGGING_LEVEL": "INFO"');
    expect(texts["profiles.json"]).toContain('"HF_TOKEN": "[hidden]"');
    expect(texts["replicas.json"]).toContain("--threads 2");
    expect(texts[log]).toContain("GET /v1/models");
    expect(texts["events.json"]).toContain("ReplicaFailed");
    expect(texts["nodes.json"]).toContain("does not answer");
  });

  test("of a node that is silent says so, and the rest is there", async () => {
    const { on, one } = await stage();
    await one.drop();
    const file = join(folder, "bundle.tar.gz");
    expect((await ctl(on, "debug", file)).code).toBe(0);
    const texts = await unpacked(file);
    const log = Object.entries(texts).find(([name]) => name.startsWith("logs/"))?.[1];
    expect(log).toMatch(/^This part could not be had: .*node n1 is not connected/);
    expect(Object.keys(texts)).toContain("replicas.json");
  });

  test("is not written over anything, and leaves nothing half made", async () => {
    const { on } = await stage();
    const file = join(folder, "none", "bundle.tar.gz");
    expect((await ctl(on, "debug", file)).code).toBe(2);
    expect((await ctl(on, "debug", folder)).code).toBe(2);
    expect(await readdir(folder)).toEqual([]);
  });
});

test("no verb prints a secret, in no form, whatever an engine has printed; only export and backup hold them", async () => {
  const { on, one, made } = await stage();
  const verbs = [
    ...["status", "nodes", "nodes n1", "profiles", "replicas", "models", "ps", "engines", "weights", "events"],
    ...["keys list --all", "token list --all", "rollout status smol", "explain smol", "version"],
  ];
  const texts: Record<string, string> = {};
  for (const verb of verbs) {
    for (const form of ["table", "wide", "json", "yaml", "name"]) {
      const { stdout, stderr } = await ctl(on, ...verb.split(" "), "-o", form);
      texts[`${verb} -o ${form}`] = stdout + stderr;
    }
  }
  const replica = one.desired?.replicas[0]?.id ?? "";
  const [logged] = await Promise.all([ctl(on, "logs", replica), answerLog(one, made)]);
  texts["logs"] = logged.stdout;
  expect(Object.values(texts).join("")).toContain("[its key]");
  expect(texts["logs"]).toContain("--threads 2");
  // What no engine is ever told, and what it was told in an earlier life, it cannot print either.
  const known = Object.fromEntries(Object.entries(made).filter(([name]) => name !== "adminToken"));
  const planted = Object.fromEntries(Object.entries(PLANTED).filter(([name]) => name !== "oldToken"));
  expect(leaks(texts, known, planted)).toEqual([]);
});
