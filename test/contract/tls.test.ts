import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseServerConfig } from "../../src/config/server.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import { type RunningServer, startServer } from "../../src/run/server.ts";
import { AdminService } from "../../src/wire/gen/llmgw/v1/admin_pb.js";
import { Authority, type Certified } from "../fakes/certificates.ts";
import { ScriptedAgent } from "../fakes/scripted-agent.ts";

const authority = new Authority();
const sessions: Http2SessionManager[] = [];
let folder = "";
let server: RunningServer;

function configOf(lines: readonly string[]) {
  const text = ['listen: "127.0.0.1:0"', 'router: { listen: "" }', ...lines].join("\n");
  const parsed = parseServerConfig({ text, file: "x", env: {}, readSecret: () => ({ ok: false, error: "" }) });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
}

const tlsLine = `tls: { ca: "DIR/ca.pem", cert: "DIR/server.pem", key: "DIR/server-key.pem" }`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-tls-"));
  const own = authority.issue({ commonName: "llmgw-server", dns: ["localhost"], ips: ["127.0.0.1"] });
  await writeFile(join(folder, "ca.pem"), authority.ca);
  await writeFile(join(folder, "server.pem"), own.cert);
  await writeFile(join(folder, "server-key.pem"), own.key, { mode: 0o600 });
  await writeFile(join(folder, "other-key.pem"), authority.issue({ commonName: "other" }).key, { mode: 0o600 });
  const config = configOf([tlsLine.replaceAll("DIR", folder)]);
  server = await startServer({ config, dataDir: join(folder, "data"), logger: silentLogger });
});

afterAll(async () => {
  await server.stop();
  for (const session of sessions) session.abort();
  await rm(folder, { recursive: true });
});

function connect(certificate?: Certified): Transport {
  const tls = { ca: authority.ca, ...certificate };
  const sessionManager = new Http2SessionManager(server.url, undefined, tls);
  sessions.push(sessionManager);
  return createConnectTransport({ httpVersion: "2", baseUrl: server.url, sessionManager });
}

test("an agent with its own certificate joins", async () => {
  const agent = new ScriptedAgent(connect(authority.issue({ commonName: "n1", dns: ["n1"] })), { node: "n1" });
  await expect.poll(() => agent.desired?.revision).toBe(1);
  await agent.drop();
});

test.each([
  {
    name: "no certificate",
    certificate: undefined,
    code: Code.Unauthenticated,
    want: /takes only nodes with a certificate/,
  },
  {
    name: "another node's",
    certificate: authority.issue({ commonName: "n2", dns: ["n2"] }),
    code: Code.PermissionDenied,
    want: /it names n2, but the agent says that it is n1/,
  },
  {
    name: "one that is over",
    certificate: authority.issue({ commonName: "n1", dns: ["n1"], expired: true }),
    code: Code.PermissionDenied,
    want: /of n1 .* is refused: it expired at .* clock says/,
  },
  {
    name: "one of another authority",
    certificate: new Authority("somebody else").issue({ commonName: "n1", dns: ["n1"] }),
    code: Code.PermissionDenied,
    want: /of n1 .* is refused: it is not of an authority/,
  },
])("an agent is refused, and told why: $name", async ({ certificate, code, want }) => {
  const agent = new ScriptedAgent(connect(certificate), { node: "n1" });
  await agent.ended;
  const refusal = ConnectError.from(agent.failure);
  expect(refusal.rawMessage).toMatch(want);
  expect(refusal.code).toBe(code);
});

test("operators need the token and no certificate, over HTTP/2 and HTTP/1.1", async () => {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const status = await createClient(AdminService, connect()).getStatus({}, { headers });
  expect(status.serverVersion).not.toBe("");
  const answer = await new Promise<string>((resolve, reject) => {
    const call = request(`${server.url}/llmgw.v1.AdminService/GetStatus`, {
      method: "POST",
      ca: authority.ca,
      headers: { ...headers, "content-type": "application/json" },
    });
    call.on("response", (response) => {
      let text = response.httpVersion + " ";
      response.setEncoding("utf8");
      response.on("data", (part: string) => (text += part));
      response.on("end", () => {
        resolve(text);
      });
    });
    call.on("error", reject);
    call.end("{}");
  });
  expect(answer).toMatch(/^1\.1 \{"serverId":/);
});

test.each([
  {
    name: "a key that is not there",
    line: tlsLine.replace("server-key.pem", "none.pem"),
    want: /tls\.key: there is no file .*none\.pem/,
  },
  {
    name: "a key that is no PEM",
    line: tlsLine.replace("server-key.pem", "data/admin-token"),
    want: /tls\.key: .*admin-token is no PEM text/,
  },
  {
    name: "a key of another certificate",
    line: tlsLine.replace("server-key.pem", "other-key.pem"),
    want: /tls\.key: .*other-key\.pem does not belong to the certificate in .*server\.pem/,
  },
])("a server does not start with $name", async ({ line, want }) => {
  const config = configOf([line.replaceAll("DIR", folder)]);
  const started = startServer({ config, dataDir: join(folder, "other"), logger: silentLogger });
  await expect(started).rejects.toThrow(want);
});

test.each([
  { listen: "0.0.0.0:0", warnings: 1 },
  { listen: "127.0.0.1:0", warnings: 0 },
])("plain http on $listen is warned of $warnings times", async ({ listen, warnings }) => {
  const said: string[] = [];
  const keep = (words: string) => void said.push(words);
  const logger = Object.assign(Object.create(silentLogger) as typeof silentLogger, { warn: keep });
  const parsed = parseServerConfig({
    text: `listen: "${listen}"\nrouter: { listen: "" }`,
    file: "x",
    env: {},
    readSecret: () => ({ ok: false, error: "" }),
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  const plain = await startServer({ config: parsed.value, dataDir: join(folder, listen), logger });
  await plain.stop();
  expect(said.filter((words) => /speaks plain http: .* `llmgw ctl cert` makes certificates/.test(words))).toHaveLength(
    warnings,
  );
});
