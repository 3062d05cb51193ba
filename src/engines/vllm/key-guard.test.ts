import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { launchCases } from "../golden/cases.ts";
import { command } from "./command.ts";

const CASES = launchCases({ binary: "/opt/venv/bin/vllm", version: "0.33.0" });
const [one] = CASES;
const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) console.log("skipped: there is no python3 here, so the guard of vLLM's paths is not run");

/** Asks the class, as a server of its kind would, and prints what it said to each question. */
const ASK = `
import asyncio, importlib, json, sys
module, name = sys.argv[1].rsplit(".", 1)
guard = getattr(importlib.import_module(module), name)

async def app(scope, receive, send):
    await send({"type": "app", "status": "let in"})

async def ask(scope):
    said = []
    async def receive():
        return {"type": "websocket.connect"}
    async def send(message):
        said.append(str(message.get("status", message.get("code", message.get("body", b"").decode() if "body" in message else ""))))
    await guard(app)({**scope, "headers": [(n.encode(), v.encode()) for n, v in scope.get("headers", [])]}, receive, send)
    return said

print(json.dumps([asyncio.run(ask(scope)) for scope in json.load(sys.stdin)]))
`;

const REFUSED = ["401", '{"error":"Unauthorized"}'];
const IN = ["let in"];
const key = ["authorization", "Bearer sk-replica"];
const http = (path: string, ...headers: readonly (readonly string[])[]) => ({ type: "http", path, headers });

const QUESTIONS: readonly { readonly name: string; readonly scope: object; readonly says: readonly string[] }[] = [
  ...[
    "/v1/models",
    "/tokenize",
    "/pooling",
    "/invocations",
    "/metrics",
    "/health",
    "/ping",
    "/docs",
    "/scale_elastic_ep",
  ].flatMap((path) => [
    { name: `${path} without a key`, scope: http(path), says: REFUSED },
    { name: `${path} with the key`, scope: http(path, ["host", "x"], key), says: IN },
  ]),
  { name: "another key", scope: http("/tokenize", ["authorization", "Bearer sk-replica2"]), says: REFUSED },
  { name: "a part of the key", scope: http("/tokenize", ["authorization", "Bearer sk-replic"]), says: REFUSED },
  { name: "another scheme", scope: http("/tokenize", ["authorization", "Basic sk-replica"]), says: REFUSED },
  { name: "two keys", scope: http("/tokenize", key, ["authorization", "Bearer x"]), says: REFUSED },
  { name: "a key that is no ASCII", scope: http("/tokenize", ["authorization", "Bearer é"]), says: REFUSED },
  { name: "a socket without a key", scope: { type: "websocket", path: "/v1/realtime" }, says: ["1008"] },
  { name: "a socket with it", scope: { type: "websocket", path: "/v1/realtime", headers: [key] }, says: IN },
  { name: "the server's own start", scope: { type: "lifespan" }, says: IN },
];

test.skipIf(!hasPython)("every path of vLLM's server asks for the replica's key", async () => {
  const folder = await mkdtemp(join(tmpdir(), "llmgw-guard-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const launch = { ...one?.launch, workDir: join(folder, "work") } as Parameters<typeof command>[0];
  const { argv, env, files = [] } = command({ ...launch, env: { PYTHONPATH: "/of/the/profile" } });
  for (const { path, text } of files) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode: 0o600 });
  }
  expect(env["PYTHONPATH"]).toBe(`${folder}/work/python:/of/the/profile`);
  const asked = spawnSync("python3", ["-c", ASK, argv[argv.indexOf("--middleware") + 1] ?? ""], {
    env: { ...env, PATH: process.env["PATH"] ?? "" },
    input: JSON.stringify(QUESTIONS.map(({ scope }) => scope)),
    encoding: "utf8",
  });
  expect(asked.stderr).toBe("");
  const said = JSON.parse(asked.stdout) as readonly (readonly string[])[];
  expect(QUESTIONS.map(({ name }, at) => [name, said[at]])).toEqual(QUESTIONS.map(({ name, says }) => [name, says]));
});

test.each(
  CASES.map(({ name, launch }) => ({
    name,
    launch,
    guarded: launch.apiKey !== "" && (launch.gang?.rank ?? 0) === 0,
  })),
)("$name: guarded: $guarded", ({ launch, guarded }) => {
  const { argv, files = [] } = command(launch);
  expect([argv.includes("--middleware"), files.length]).toEqual([guarded, guarded ? 1 : 0]);
});
