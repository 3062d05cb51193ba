import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../test/e2e/cluster.ts";
import { type Contender, startProgram } from "./contender.ts";
import { CACHE, debianProgram, run } from "./debian.ts";

/** Where a peer may write, and what it is to stand in front of. */
export interface Place {
  readonly folder: string;
  readonly enginePort: number;
  readonly model: string;
}

/** HAProxy with one thread, as it is set up in front of servers that speak HTTP: it knows of no keys, limits or prompts. */
export async function startHaproxy({ folder, enginePort }: Place): Promise<Contender> {
  const { path, env } = await debianProgram("haproxy", [
    "haproxy",
    "liblua5.3-0",
    "libopentracing-c-wrapper0",
    "libopentracing1",
  ]);
  const port = await freePort();
  const file = join(folder, "haproxy.cfg");
  const servers = [0, 1].map((n) => `  server s${String(n)} 127.0.0.1:${String(enginePort)}`);
  const lines = [
    "global",
    "  nbthread 1",
    "  maxconn 9000",
    "defaults",
    "  mode http",
    "  timeout connect 5s",
    "  timeout client 900s",
    "  timeout server 900s",
    "  http-reuse always",
    // Without it events are held back, for up to 200 ms, to be sent together: whoever streams sets it, and the work is another.
    "  option http-no-delay",
    "frontend f",
    `  bind 127.0.0.1:${String(port)}`,
    "  default_backend b",
    "backend b",
    "  balance leastconn",
    ...servers,
    "",
  ];
  await writeFile(file, lines.join("\n"));
  return startProgram({ argv: [path, "-db", "-f", file], port, env });
}

/** nginx with one worker, as it is set up for event streams. */
export async function startNginx({ folder, enginePort }: Place): Promise<Contender> {
  const { path, env } = await debianProgram("nginx", ["nginx"]);
  const port = await freePort();
  const prefix = join(folder, "nginx");
  await mkdir(join(prefix, "logs"), { recursive: true });
  const config = `daemon off; worker_processes 1; worker_rlimit_nofile 20000; pid nginx.pid; error_log stderr error;
    events { worker_connections 18000; }
    http {
      access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
      client_max_body_size 64m; client_body_buffer_size 1m; keepalive_requests 100000000;
      upstream engines { least_conn; server 127.0.0.1:${String(enginePort)}; server 127.0.0.1:${String(enginePort)}; keepalive 8192; keepalive_requests 100000000; }
      server {
        listen 127.0.0.1:${String(port)} backlog=4096;
        location / { proxy_pass http://engines; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_read_timeout 900s; }
      }
    }`;
  await writeFile(join(prefix, "nginx.conf"), config);
  return startProgram({ argv: [path, "-p", prefix, "-c", "nginx.conf", "-e", "stderr"], port, env });
}

const PORTKEY = "1.15.2";
/** What the image that its makers publish has: node:20. It decides much of what a request costs it. */
const PORTKEYS_NODE = "20.20.2";

/** Portkey's gateway, from npm, on the Node that its makers run it on. */
export async function startPortkey(place: Place): Promise<Contender> {
  const root = await portkey();
  return startPortkeyOn(join(root, "node_modules", NODE_PACKAGE, "bin/node"), root, place);
}

/** The same on the Node that llmgw has. */
export async function startPortkeyOnOurNode(place: Place): Promise<Contender> {
  return startPortkeyOn(process.execPath, await portkey(), place);
}

const NODE_PACKAGE = `node-${process.platform}-${process.arch}`;

async function portkey(): Promise<string> {
  const root = join(CACHE, `portkey-${PORTKEY}-node-${PORTKEYS_NODE}`);
  await once(root, async (part) => {
    await writeFile(join(part, "package.json"), "{}");
    const packages = [`@portkey-ai/gateway@${PORTKEY}`, `${NODE_PACKAGE}@${PORTKEYS_NODE}`];
    await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", part, ...packages]);
  });
  return root;
}

async function startPortkeyOn(node: string, root: string, { enginePort }: Place): Promise<Contender> {
  const port = await freePort();
  const program = join(root, "node_modules/@portkey-ai/gateway/build/start-server.js");
  return startProgram({
    argv: [node, program, "--headless", `--port=${String(port)}`],
    port,
    headers: ["x-portkey-provider: openai", `x-portkey-custom-host: http://127.0.0.1:${String(enginePort)}/v1`],
  });
}

const LITELLM = "1.108.7";

/** LiteLLM's proxy, from PyPI, with one process and without a database. */
export async function startLitellm({ folder, enginePort, model }: Place): Promise<Contender> {
  const root = join(CACHE, `litellm-${LITELLM}`);
  await once(root, async (part) => {
    await run("python3", ["-m", "venv", part]);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `litellm[proxy]==${LITELLM}`];
    await run(join(part, "bin/python"), pip);
  });
  const port = await freePort();
  const file = join(folder, "litellm.yaml");
  const api_base = `http://127.0.0.1:${String(enginePort)}/v1`;
  const params = { model: `openai/${model}`, api_base, api_key: "ek" };
  await writeFile(file, JSON.stringify({ model_list: [{ model_name: model, litellm_params: params }] }));
  const program = [join(root, "bin/python"), join(root, "bin/litellm")] as const;
  const key = `sk-${randomBytes(32).toString("hex")}`;
  return startProgram({
    argv: [...program, "--config", file, "--host", "127.0.0.1", "--port", String(port)],
    port,
    keys: [key],
    // Its list of prices comes from the network otherwise, and its start waits for it.
    env: { LITELLM_LOCAL_MODEL_COST_MAP: "True", LITELLM_LOG: "ERROR", LITELLM_MASTER_KEY: key, NO_DOCS: "True" },
  });
}

/** Fills a folder once and for all: what was cut off half-way is made again. */
async function once(root: string, fill: (part: string) => Promise<void>): Promise<void> {
  if (existsSync(join(root, "ready"))) return;
  await rm(root, { recursive: true, force: true });
  await mkdir(root, { recursive: true });
  await fill(root);
  await writeFile(join(root, "ready.part"), "");
  await rename(join(root, "ready.part"), join(root, "ready"));
}
