import { execFile } from "node:child_process";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { freePort, killProcessesOf } from "./cluster.ts";
import { typed } from "../fakes/typed.ts";
import { familyOf, listeningSockets } from "./listening.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { TlsSite } from "./tls-site.ts";

const run = promisify(execFile);

/** What people put into environments, profiles and files. */
const PLANTED = {
  hubToken: "hf_PlantedOnTheNodeAbCd1234",
  profileToken: "hf_PlantedInAProfileEfGh5678",
  password: "planted-service-password-9012",
  proxy: "planted-proxy-password-3456",
  mirror: "planted-mirror-password-7890",
};

let site: TlsSite;
let routerPort: number;
let agent: Running;
let agentFolder: string;
let replica: { readonly id: string; readonly pid: number };
/** By name: those that were planted, and those that the system made. */
let secrets: Readonly<Record<string, string>>;
/** What commands printed, by command. */
const printed: Record<string, string> = {};

const env = (): Readonly<Record<string, string>> => ({
  XDG_CONFIG_HOME: join(site.dir, "xdg"),
  LLMGW_SERVER: `https://127.0.0.1:${String(site.port)}`,
  LLMGW_CA: join(site.certs, "ca.pem"),
  LLMGW_TOKEN: secrets["adminToken"] ?? "",
  LLMGW_API_KEY: secrets["clientKey"] ?? "",
  NO_COLOR: "1",
});

/** In this process: there are many of them. */
async function ctl(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const done = await typed(["ctl", ...args], { env: env() });
  printed[`ctl ${args.join(" ")}`] = done.stdout + done.stderr;
  return done;
}

/** What it prints is the secret itself: kept out of what is looked through. */
async function made(...args: readonly string[]): Promise<string> {
  const done = await finished(["ctl", ...args, "-o", "json"], { env: env() });
  if (done.code !== 0) throw new Error(done.stderr);
  return (JSON.parse(done.stdout) as { readonly secret: string }).secret;
}

const ask = (key: string, body = '{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"max_tokens":2}') =>
  fetch(`http://127.0.0.1:${String(routerPort)}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body,
  });

/** The node joins with a token in a file of its own; its configuration is written by the join. */
async function joinNode(): Promise<void> {
  agentFolder = join(site.dir, "node-a");
  const file = join(site.dir, "join-token");
  await writeFile(file, secrets["joinToken"] ?? "", { mode: 0o600 });
  const args = ["--node-id", "node-a", "--token-file", file, "--data-dir", agentFolder, "--without-service"];
  const joined = await finished(["agent", "join", env()["LLMGW_SERVER"] ?? "", ...args], { env: env() });
  printed["agent join"] = joined.stdout + joined.stderr;
  expect(joined.code).toBe(0);
  const yaml = join(agentFolder, "agent.yaml");
  const more = [
    `engines: { llama.cpp: { bin: "${inject("llamaServer")}" } }`,
    'mgmt_addr: "127.0.0.1"',
    'peer_listen: ""',
    "supervisor: { health_interval: 500ms, stop_timeout: 10s }",
    "join_token: file:" + file,
    "",
  ];
  await writeFile(yaml, `${await readFile(yaml, "utf8")}${more.join("\n")}`);
}

const PROFILE = [
  "kind: Profile",
  "name: tiny",
  'model: { source: "tiny:" }',
  "context: 8192",
  'args: ["-np", "2", "-t", "1"]',
  "env:",
  `  HF_TOKEN: ${PLANTED.profileToken}`,
  `  MY_SERVICE_PASSWORD: ${PLANTED.password}`,
  "",
].join("\n");

beforeAll(async () => {
  routerPort = await freePort();
  site = await TlsSite.start({
    router: `{ listen: "127.0.0.1:${String(routerPort)}", auth: keys }`,
    logLevel: "trace",
  });
  const adminToken = (await readFile(join(site.dir, "server", "admin-token"), "utf8")).trim();
  secrets = { ...PLANTED, adminToken };
  const joinToken = await made("token", "create", "--node", "node-a");
  secrets = { ...secrets, joinToken, userToken: await made("token", "create", "alice", "--role", "viewer") };
  secrets = { ...secrets, clientKey: await made("keys", "create", "app") };
  await joinNode();
  const start = ["agent", "-c", join(agentFolder, "agent.yaml"), "--data-dir", agentFolder, "--log-level", "trace"];
  agent = llmgw(start, {
    HF_TOKEN: PLANTED.hubToken,
    HTTPS_PROXY: `http://bob:${PLANTED.proxy}@127.0.0.1:9`,
    NO_PROXY: "127.0.0.1,localhost",
    UV_INDEX_URL: `https://bob:${PLANTED.mirror}@mirror.example/simple`,
  });
  const manifest = join(site.dir, "tiny.yaml");
  await writeFile(manifest, PROFILE, { mode: 0o600 });
  expect(await ctl("apply", "-f", manifest)).toMatchObject({ code: 0 });
  const waited = await ctl("wait", "profile/tiny", "--timeout", "90s");
  expect(waited, agent.output().slice(-3000)).toMatchObject({ code: 0 });
  const shown = JSON.parse((await ctl("replicas", "-o", "json")).stdout) as {
    readonly replicas: readonly { readonly id: string; readonly pid: number }[];
  };
  const [first] = shown.replicas;
  if (first === undefined) throw new Error("there is no replica");
  replica = first;
  const environ = await readFile(`/proc/${String(replica.pid)}/environ`, "utf8");
  secrets = { ...secrets, replicaKey: /(?:^|\0)LLAMA_API_KEY=([^\0]+)/.exec(environ)?.[1] ?? "" };
});

afterAll(async () => {
  await agent.end();
  await killProcessesOf(site.dir);
  await site.stop();
});

describe("with the router bypassed", () => {
  const PATHS = [
    ...[
      "/",
      "/v1/models",
      "/models",
      "/props",
      "/slots",
      "/metrics",
      "/lora-adapters",
      "/v1/stream",
      "/tools",
      "/nonsense",
    ],
    ...[
      "/v1/chat/completions",
      "/completion",
      "/v1/embeddings",
      "/tokenize",
      "/v1/messages",
      "/v1/responses",
      "/infill",
    ],
  ];

  test("every port of a replica is on the management address, and answers 401 or nothing but to ask whether it lives", async () => {
    const pids = await familyOf(replica.pid);
    const sockets = (await Promise.all(pids.map(listeningSockets))).flat();
    expect(sockets.length).toBeGreaterThan(0);
    const answers: Record<string, string> = {};
    for (const { address, port } of sockets) {
      expect(address).toBe("0100007F");
      for (const path of [...PATHS, "/health", "/v1/health"]) {
        for (const method of ["GET", "POST"]) {
          for (const key of ["", "wrong", secrets["clientKey"] ?? ""]) {
            const said = await saidTo(key, { method, url: `http://127.0.0.1:${String(port)}${path}` });
            if (said !== undefined) answers[`${method} ${path}`] = said;
          }
        }
      }
    }
    expect(answers).toEqual(ALIVE);
  });

  /** All that is left open, and it says nothing but that the engine lives; what it does not know, it does not answer. */
  const ALIVE = { "GET /health": '200 {"status":"ok"}', "GET /v1/health": '200 {"status":"ok"}' };

  /** Undefined: 401, or nothing. */
  async function saidTo(key: string, { method, url }: { readonly method: string; readonly url: string }) {
    const headers = { "content-type": "application/json", ...(key === "" ? {} : { authorization: `Bearer ${key}` }) };
    const answer = await fetch(url, { method, headers, body: method === "POST" ? "{}" : null });
    const text = await answer.text();
    const isNothing = answer.status === 404 && text.includes("not_found_error");
    return answer.status === 401 || isNothing ? undefined : `${String(answer.status)} ${text}`;
  }

  test("its own key opens it, and that is in no command line", async () => {
    const [socket] = await listeningSockets(replica.pid);
    const headers = { authorization: `Bearer ${secrets["replicaKey"] ?? ""}` };
    expect((await fetch(`http://127.0.0.1:${String(socket?.port)}/v1/models`, { headers })).status).toBe(200);
  });

  test("the client's key opens the router, which hands none of the engine's own pages on", async () => {
    expect((await ask(secrets["clientKey"] ?? "")).status).toBe(200);
    for (const path of ["/slots", "/props", "/lora-adapters", "/health/x"]) {
      const headers = { authorization: `Bearer ${secrets["clientKey"] ?? ""}` };
      expect((await fetch(`http://127.0.0.1:${String(routerPort)}${path}`, { headers })).status, path).toBe(404);
    }
  });
});

describe("no secret is anywhere where it is not kept", () => {
  const VERBS = [
    ...[
      "status",
      "nodes",
      "nodes node-a",
      "profiles",
      "profiles tiny",
      "replicas",
      "models",
      "ps",
      "engines",
      "weights",
    ],
    ...["events", "keys list --all", "token list --all", "usage", "rollout status tiny", "explain tiny", "version"],
  ];

  /** Each secret that stands in a text, by the text's name. */
  const leaksIn = (texts: Readonly<Record<string, string>>): readonly string[] =>
    Object.entries(texts).flatMap(([where, text]) =>
      Object.entries(secrets).flatMap(([name, secret]) => {
        const forms = [secret, encodeURIComponent(secret), btoa(secret), JSON.stringify(secret).slice(1, -1)];
        return forms.some((form) => text.includes(form)) ? [`${name} in ${where}`] : [];
      }),
    );

  test("all of them are known to this test", () => {
    expect(Object.entries(secrets).filter(([, secret]) => secret.length < 12)).toEqual([]);
  });

  test("what the commands print, in every form", async () => {
    for (const verb of VERBS) {
      for (const form of ["table", "json", "yaml"]) {
        const { code, stderr } = await ctl(...verb.split(" "), "-o", form);
        expect(code, `${verb} -o ${form}: ${stderr}`).toBe(0);
      }
    }
    await ctl("logs", replica.id, "--tail", "200");
    await ctl("diff", "-f", join(site.dir, "tiny.yaml"));
    await ctl("chat", "tiny", "Hello", "--max-tokens", "2");
    for (const [role, folder] of [
      ["server", site.dir],
      ["agent", agentFolder],
    ] as const) {
      const done = await finished([role, "-c", join(folder, `${role}.yaml`), "--check", "--data-dir", folder]);
      expect(done.code, done.stderr).toBe(0);
      printed[`${role} --check`] = done.stdout + done.stderr;
    }
    expect(printed["agent --check"]).toContain("join_token");
    expect(leaksIn(printed)).toEqual([]);
  });

  test("errors that are about a secret", async () => {
    const wrong = `${secrets["clientKey"] ?? ""}x`;
    const answers: Record<string, string> = { "the router's 401": await (await ask(wrong)).text() };
    answers["the router's 400"] = await (await ask(secrets["clientKey"] ?? "", '{"model":')).text();
    const refused = await finished(["ctl", "nodes"], {
      env: { ...env(), LLMGW_TOKEN: `${secrets["adminToken"] ?? ""}x` },
    });
    answers["ctl with a wrong token"] = refused.stderr;
    const used = [
      "agent",
      "join",
      env()["LLMGW_SERVER"] ?? "",
      "--token-file",
      join(site.dir, "join-token"),
      "--node-id",
      "node-b",
    ];
    const joined = await finished([...used, "--data-dir", join(site.dir, "node-b")], { env: env() });
    expect(joined.code).toBe(5);
    answers["a used token"] = joined.stderr;
    expect(leaksIn(answers)).toEqual([]);
  });

  test("a secret file that others may read is refused, and not shown", async () => {
    const folder = join(site.dir, "open");
    await mkdir(folder);
    const [file, yaml] = [join(folder, "token"), join(folder, "agent.yaml")];
    await writeFile(file, secrets["joinToken"] ?? "");
    await chmod(file, 0o644);
    await writeFile(yaml, `server: https://127.0.0.1:1\njoin_token: file:${file}\n`);
    const done = await finished(["agent", "-c", yaml, "--check"]);
    expect(done.stderr).toContain(`others may read it (mode 644): run \`chmod 600 ${file}\``);
    expect(done.code).toBe(2);
    expect(leaksIn({ refusal: done.stdout + done.stderr })).toEqual([]);
    await chmod(file, 0o600);
  });

  test("the debug bundle, metrics, logs at their most, and the command line of every process", async () => {
    const bundle = join(site.dir, "bundle.tar.gz");
    expect((await ctl("debug", bundle)).code).toBe(0);
    const unpacked = join(site.dir, "bundle");
    await mkdir(unpacked);
    await run("tar", ["-xzf", bundle, "-C", unpacked]);
    const texts: Record<string, string> = Object.fromEntries(await textsBelow(unpacked));
    texts["the router's metrics"] = await (await fetch(`http://127.0.0.1:${String(routerPort)}/metrics`)).text();
    texts["the server's output"] = site.serverOutput;
    texts["the agent's output"] = agent.output();
    expect(texts["the server's output"]).toMatch(/"level":(10|20)|DEBUG|TRACE/);
    for (const pid of [site.serverPid, agent.pid, ...(await familyOf(replica.pid))]) {
      for (const one of await familyOf(pid)) {
        texts[`the command line of ${String(one)}`] = await readFile(`/proc/${String(one)}/cmdline`, "utf8").catch(
          () => "",
        );
      }
    }
    const everyone = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    for (const pid of everyone) {
      texts[`the command line of process ${pid}`] = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    }
    expect(leaksIn(texts)).toEqual([]);
  });

  test("files that hold one may be read by their owner alone, and logs are none of them", async () => {
    const files = await textsBelow(site.dir);
    const holding = files.filter(([name, text]) => leaksIn({ [name]: text }).length > 0).map(([name]) => name);
    expect(holding.filter((name) => /\.log(\.|$)|\/logs\//.test(name))).toEqual([]);
    const open: string[] = [];
    for (const name of holding) {
      const { mode } = await stat(join(site.dir, name));
      if ((mode & 0o077) !== 0) open.push(`${name} has mode ${(mode & 0o777).toString(8)}`);
    }
    expect(open).toEqual([]);
    // Something is kept, or nothing was looked at.
    expect(holding).toEqual(expect.arrayContaining(["server/admin-token", "join-token", "tiny.yaml"]));
  });
});

/** Every file below the folder with what is in it; weights are none of it. */
async function textsBelow(folder: string): Promise<readonly (readonly [name: string, text: string])[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((one) => one.isFile() && !one.name.endsWith(".gguf"))
    .map((one) => join(one.parentPath, one.name));
  return Promise.all(
    paths.map(async (path) => [path.slice(folder.length + 1), await readFile(path, "latin1").catch(() => "")] as const),
  );
}
