import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { writeFileAtomic } from "../../src/platform/files.ts";
import { Authority } from "../fakes/certificates.ts";
import { scriptedGguf } from "../fakes/scripted-gguf.ts";
import { Cluster, freePort } from "./cluster.ts";
import { until } from "./wait.ts";

const SAYS = ["Far", " away", " it", " is", " served", "."];
const TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}";
const KEY = "sk-of-an-endpoint-elsewhere";

const authority = new Authority();
let cluster: Cluster;
let port: number;
let stopEngine: () => Promise<void> = () => Promise.resolve();

const path = (name: string): string => join(cluster.dir, name);
const ctl = (...args: readonly string[]) => cluster.ctl(...args);

/** A real llama-server that no control plane knows of, over TLS, with a key and a model name of its own. */
function startEngine(): () => Promise<void> {
  const program = inject("llamaServer");
  const args = [
    ...["--model", path("far.gguf"), "--alias", "org/Far-1", "--host", "127.0.0.1", "--port", String(port)],
    ...["--ssl-cert-file", path("far.pem"), "--ssl-key-file", path("far-key.pem"), "--device", "none"],
    ...["--ctx-size", "2048", "--parallel", "1", "--threads", "1", "--no-ui", "--offline"],
  ];
  const env = { PATH: process.env["PATH"], LLAMA_API_KEY: KEY, LD_LIBRARY_PATH: dirname(program) };
  const child = spawn(program, args, { env, stdio: "ignore" });
  const exited = once(child, "exit");
  return async () => {
    child.kill("SIGKILL");
    await exited;
  };
}

async function put(name: string, text: string | Uint8Array): Promise<string> {
  await writeFileAtomic(path(name), text, 0o600);
  return path(name);
}

interface Answer {
  readonly status: number;
  readonly replica: string | null;
  readonly text: string;
}

async function ask(model: string, more: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
  const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, max_tokens: 16, messages: [{ role: "user", content: "Hi" }], ...more }),
  });
  const replica = response.headers.get("x-llmgw-replica");
  return { status: response.status, replica, text: await response.text() };
}

const said = (text: string): string => {
  const { choices } = JSON.parse(text) as { choices: readonly { message: { content: string } }[] };
  return choices[0]?.message.content ?? "";
};

beforeAll(async () => {
  cluster = await Cluster.start();
  port = await freePort();
  const { cert, key } = authority.issue({ commonName: "far", ips: ["127.0.0.1"] });
  await put("far.pem", cert);
  await put("far-key.pem", key);
  await put("far.gguf", scriptedGguf({ says: SAYS, template: TEMPLATE }));
  stopEngine = startEngine();
  await put("ca.pem", authority.ca);
  await put("far.key", `${KEY}\n`);
  const upstream = [
    `kind: Upstream\nname: far\nurl: https://127.0.0.1:${String(port)}`,
    `api_key: file:${path("far.key")}\nca: ${path("ca.pem")}\nmodels: { far: org/Far-1 }\n`,
  ].join("\n");
  const profile = 'kind: Profile\nname: tiny\nmodel: { source: "tiny:" }\nreplicas: 0\ncontext: 2048\n';
  const alias = "kind: Alias\nname: chat\ntargets: [{ profile: tiny }]\nfallback: [far]\n";
  await put("all.yaml", [upstream, profile, alias].join("---\n"));
  expect(await ctl("apply", "-f", path("all.yaml"))).toMatchObject({
    ...{ code: 0, stdout: "profile/tiny created\nalias/chat created\nupstream/far created\n" },
  });
  await until("the upstream to answer", async () => (await ask("far")).status === 200);
});

afterAll(async () => {
  await stopEngine();
  await cluster.stop();
});

test("it answers like a model of the house: whole, as a stream, as messages; and it is counted and explained", async () => {
  const whole = await ask("far");
  expect([whole.status, whole.replica, said(whole.text)]).toEqual([200, "upstream/far", SAYS.join("")]);
  const stream = await ask("far", { stream: true });
  expect(stream.text).toMatch(/served.*data: \[DONE\]\n\n$/s);
  expect(stream.text).not.toContain('"usage"');

  const messages = await fetch(`${cluster.baseUrl}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-request-id": "req-of-the-upstream" },
    body: JSON.stringify({ model: "far", max_tokens: 16, messages: [{ role: "user", content: "Hi" }] }),
  });
  expect(await messages.json()).toMatchObject({ type: "message", content: [{ text: SAYS.join("") }] });
  await until("the request's record", async () => (await ctl("explain", "req-of-the-upstream")).code === 0);
  expect((await ctl("explain", "req-of-the-upstream")).stdout).toContain("upstream/far");

  const page = await ctl("explain", "upstream/far");
  expect(page.stdout).toMatch(/Key +\S+far\.key\n/);
  expect(page.stdout).toMatch(/Aliases +chat\n/);
  expect((await ctl("models")).stdout).toMatch(/far +1\/1 +upstream\/far/);
  const exported = await ctl("export");
  expect(exported.stdout).toContain("kind: Upstream");
  expect(exported.stdout + page.stdout + (cluster.server?.output() ?? "")).not.toContain(KEY);
  const again = await put("again.yaml", exported.stdout);
  expect((await ctl("diff", "-f", again)).code).toBe(0);
});

test("an alias goes to it when its own profile has nobody, and back; it cannot be deleted under the alias", async () => {
  expect(await ask("chat")).toMatchObject({ status: 200, replica: "upstream/far" });
  expect((await ctl("scale", "tiny", "1")).code).toBe(0);
  await cluster.ready("tiny");
  await until("the profile to answer", async () => ((await ask("chat")).replica ?? "").startsWith("tiny-"));
  expect((await ctl("scale", "tiny", "0")).code).toBe(0);
  await until("the upstream to answer", async () => (await ask("chat")).replica === "upstream/far");
  const refused = await ctl("delete", "upstream", "far", "--yes");
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("the alias chat leads to the upstream far"),
  ]);
  const unknown = await ctl("delete", "upstream", "fra", "--yes");
  expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining('Did you mean "far"?')]);
});

test("a wrong key is told of in words, and the right one is in force again without a restart", async () => {
  await put("far.key", "sk-wrong");
  const refused = await until("the wrong key in force", async () => {
    const answer = await ask("far");
    return answer.status === 502 && answer;
  });
  expect(refused.text).toContain("The upstream does not accept the key that it is asked with (upstream/far: 401)");
  await put("far.key", KEY);
  await until("the right key in force", async () => (await ask("far")).status === 200);
});

test("while it is away requests fail in words and quickly; it is found again by asking", async () => {
  await stopEngine();
  const failed = await ask("far");
  expect([failed.status, failed.text]).toEqual([502, expect.stringContaining("upstream/far: ECONNREFUSED")]);
  expect((await ask("far")).text).toContain("its upstream failed lately and is left alone for a moment");
  stopEngine = startEngine();
  await until("the upstream to be back", async () => (await ask("far")).status === 200);
});

test("an upstream that leads back to this very router is a circle, and refused as one", async () => {
  await put("loop.yaml", `kind: Upstream\nname: loop\nurl: ${cluster.baseUrl}\nmodels: { round: round }\n`);
  expect((await ctl("apply", "-f", path("loop.yaml"))).code).toBe(0);
  const answer = await until("the route", async () => {
    const asked = await ask("round");
    return asked.status !== 404 && asked;
  });
  expect([answer.status, answer.text]).toEqual([508, expect.stringContaining("leads back to its own router")]);
  const deleted = await ctl("delete", "upstream", "loop", "--yes");
  expect(deleted).toMatchObject({ code: 0, stdout: "upstream/loop deleted\n" });
});
