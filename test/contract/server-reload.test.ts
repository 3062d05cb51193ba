import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { parseServerConfig, type ServerConfig } from "../../src/config/server.ts";
import { withLiveSettings } from "../../src/config/server-live.ts";
import { millis } from "../../src/core/ids.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import { initAuthority, issueServer } from "../../src/pki/commands.ts";
import { type RunningServer, startServer } from "../../src/run/server.ts";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { AdminService } from "../../src/wire/gen/llmgw/v1/admin_pb.js";
import { ScriptedAgent } from "../fakes/scripted-agent.ts";
import { freePort } from "../e2e/cluster.ts";
import { ownFolder, stops } from "./callers.ts";

function configOf(yaml: string): ServerConfig {
  const parsed = parseServerConfig({ text: yaml, file: "x", env: {}, readSecret: () => ({ ok: false, error: "" }) });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
}

async function started(config: ServerConfig, dataDir: string): Promise<RunningServer> {
  const server = await startServer({ config, dataDir, logger: silentLogger });
  stops.push(() => server.stop());
  return server;
}

test("SIGHUP takes engines live: nodes are told without a restart; what needs one stays as it was", async () => {
  const base = 'listen: "127.0.0.1:0"\nrouter: { listen: "" }\n';
  const server = await started(configOf(base), join(await ownFolder("reload"), "data"));
  const sessionManager = new Http2SessionManager(server.url);
  stops.push(() => {
    sessionManager.abort();
    return Promise.resolve();
  });
  const transport = createConnectTransport({ httpVersion: "2", baseUrl: server.url, sessionManager });
  const agent = new ScriptedAgent(transport, { node: "n1" }).beatEvery(100);
  stops.push(() => agent.drop());
  await expect.poll(() => agent.desired?.revision).toBe(1);
  const next = configOf(
    `${base}engines: { llama.cpp: { version: b99 } }\nweights: { concurrency: 9 }\npublic_url: "http://elsewhere:1"\nusage: { retain: 1d }\n`,
  );
  server.take(next);
  const inForce = withLiveSettings(configOf(base), next);
  expect(inForce).toMatchObject({ engines: next.engines, weights: next.weights, public_url: "http://elsewhere:1" });
  expect(inForce.usage).toEqual(configOf(base).usage);
  await expect.poll(() => agent.desired?.engines["llama.cpp"]?.version).toBe("b99");
  expect(agent.desired?.weightsConcurrency).toBe(9);
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const grant = { case: "join", value: { node: "", uses: 1 } } as const;
  const made = await createClient(AdminService, transport).createToken({ ttlSeconds: 60, grant }, { headers });
  expect(made.serverUrl).toBe("http://elsewhere:1");
  const bundle: Record<string, string> = {};
  for await (const { name, content } of createClient(AdminService, transport).debug({}, { headers })) {
    bundle[name] = Buffer.from(content).toString();
  }
  expect(bundle["configuration.yaml"]).toContain("public_url: http://elsewhere:1");
});

/** The serial number of the certificate that is shown at the port. */
const shownAt = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on("error", reject);
  });

test("a router shows a renewed certificate without a restart, and keeps the old one while the files do not fit", async () => {
  const dir = await ownFolder("reload");
  const making = { dir, days: 30, force: true, now: millis(Date.now()) };
  await initAuthority(making);
  await issueServer(["a.example"], making);
  await issueServer(["b.example"], making);
  const use = (name: string, what: "" | "-key"): Promise<void> =>
    copyFile(join(dir, `${name}.example${what}.pem`), join(dir, `router${what}.pem`));
  await Promise.all([use("a", ""), use("a", "-key")]);
  const port = await freePort();
  const tls = `tls: { cert: "${dir}/router.pem", key: "${dir}/router-key.pem" }`;
  const server = await started(
    configOf(`listen: "127.0.0.1:0"\nrouter: { listen: "127.0.0.1:${String(port)}", auth: none, ${tls} }\n`),
    join(dir, "data"),
  );
  const first = await shownAt(port);
  await use("b", "");
  server.reload();
  expect(await shownAt(port)).toBe(first);
  await use("b", "-key");
  server.reload();
  await expect.poll(() => shownAt(port)).not.toBe(first);
});
