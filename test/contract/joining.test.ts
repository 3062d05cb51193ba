import { mkdtemp, readFile, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { X509Certificate } from "node:crypto";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseServerConfig } from "../../src/config/server.ts";
import { readToken, type TokenText } from "../../src/core/access-token.ts";
import { type Millis, millis } from "../../src/core/ids.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import { initAuthority, issueServer } from "../../src/pki/commands.ts";
import { newPrivateKey, signingRequest } from "../../src/pki/signing-request.ts";
import { enrol, type JoinTarget } from "../../src/run/enrol.ts";
import { type RunningServer, startServer } from "../../src/run/server.ts";
import { AdminService } from "../../src/wire/gen/llmgw/v1/admin_pb.js";
import { JoinService } from "../../src/wire/gen/llmgw/v1/join_pb.js";
import { ScriptedAgent } from "../fakes/scripted-agent.ts";
import { overSockets } from "./site.ts";
import { only, reasons, site, soon, stops } from "./callers.ts";

const HOUR_MS = 3_600_000;
const sessions: Http2SessionManager[] = [];
const offset = { ms: 0 };
/** The control plane's: tests move it, so that tokens expire and clocks differ. */
const clock: Clock = { ...systemClock, now: () => millis(Date.now() + offset.ms) };

let folder = "";
let certs = "";
let server: RunningServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-join-"));
  certs = join(folder, "certs");
  const making = { dir: certs, days: 30, force: false, now: millis(Date.now() - 5 * HOUR_MS) };
  await initAuthority(making);
  await issueServer(["127.0.0.1"], making);
  const [ca, cert, key] = ["ca.pem", "127.0.0.1.pem", "127.0.0.1-key.pem"].map((file) => join(certs, file));
  server = await startServer({
    config: configOf(`tls: { ca: "${ca ?? ""}", cert: "${cert ?? ""}", key: "${key ?? ""}" }`),
    dataDir: join(folder, "data"),
    logger: silentLogger,
    clock,
  });
});

afterAll(async () => {
  await server.stop();
  for (const session of sessions) session.abort();
  await rm(folder, { recursive: true });
});

function configOf(line: string) {
  const text = `listen: "127.0.0.1:0"\nrouter: { listen: "" }\n${line}\n`;
  const parsed = parseServerConfig({ text, file: "x", env: {}, readSecret: () => ({ ok: false, error: "" }) });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
}

async function connect(pair?: { readonly cert: string; readonly key: string }): Promise<Transport> {
  const ca = await readFile(join(certs, "ca.pem"), "utf8");
  const sessionManager = new Http2SessionManager(server.url, undefined, { ca, ...pair });
  sessions.push(sessionManager);
  return createConnectTransport({ httpVersion: "2", baseUrl: server.url, sessionManager });
}

const headers = () => ({ authorization: `Bearer ${server.adminToken}` });
const admin = async () => createClient(AdminService, await connect());

async function token(grant: { readonly node?: string; readonly uses?: number } = {}, ttlSeconds = 3600) {
  const value = { node: grant.node ?? "", uses: grant.uses ?? 1 };
  const created = await (
    await admin()
  ).createToken({ ttlSeconds, grant: { case: "join", value } }, { headers: headers() });
  const read = readToken(created.secret);
  if (read === undefined) throw new Error("no token");
  return { ...read, id: created.token?.id ?? "" };
}

async function joining(node: string, by: TokenText, more: Partial<JoinTarget> & { readonly now?: Millis } = {}) {
  const { now = millis(Date.now()), ...target } = more;
  const key = await newPrivateKey();
  const answer = await enrol({ server: server.url, token: by, ca: undefined, env: {}, ...target }, { node, key, now });
  return { answer, key };
}

const why = ({ answer }: Awaited<ReturnType<typeof joining>>): string =>
  answer.ok ? "it was let in" : `${answer.error.kind}: ${answer.error.reason}`;

describe("a machine joins by a token", () => {
  test("and its certificate opens the stream, for that node and no other", async () => {
    const by = await token();
    const { answer, key } = await joining("n1", by);
    if (!answer.ok || answer.value.kind !== "certificate") throw new Error(JSON.stringify(answer));
    const { certificate: cert, ca } = answer.value;
    expect(ca).toBe(await readFile(join(certs, "ca.pem"), "utf8"));
    expect(new X509Certificate(cert)).toMatchObject({ subject: "O=llmgw:nodes\nCN=n1", subjectAltName: "DNS:n1" });
    const agent = new ScriptedAgent(await connect({ cert, key }), { node: "n1" });
    await expect.poll(() => agent.desired?.revision, soon).toBe(1);
    await agent.drop();
    const other = new ScriptedAgent(await connect({ cert, key }), { node: "n2" });
    await other.ended;
    expect(ConnectError.from(other.failure).rawMessage).toMatch(/it names n1, but the agent says that it is n2/);
    const { events } = await (await admin()).listEvents({ subject: by.id }, { headers: headers() });
    expect(events.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^the join token .* was created by the admin token from 127\.0\.0\.1$/),
      expect.stringMatching(/^the join token .* admitted the node n1 from 127\.0\.0\.1$/),
    ]);
  });

  test("two at once with one use: exactly one wins, and the others are told who", async () => {
    const by = await token();
    const all = await Promise.all(["a", "b", "c", "d"].map((node) => joining(node, by)));
    expect(all.filter(({ answer }) => answer.ok)).toHaveLength(1);
    const lost = all.filter(({ answer }) => !answer.ok).map(why);
    expect(lost).toHaveLength(3);
    for (const words of lost)
      expect(words).toMatch(/^refused: the join token is used up, by [a-d]: `llmgw ctl token create`/);
  });

  test("the same key may ask again, because the first answer may have been lost", async () => {
    const by = await token();
    const key = await newPrivateKey();
    const target = { server: server.url, token: by, ca: undefined, env: {} };
    const ask = () => enrol(target, { node: "again", key, now: millis(Date.now()) });
    expect([(await ask()).ok, (await ask()).ok]).toEqual([true, true]);
    expect(why(await joining("again", by))).toMatch(/used up, by again/);
  });
});

describe("is refused in words", () => {
  test.each<{
    readonly name: string;
    readonly act: () => Promise<Awaited<ReturnType<typeof joining>>>;
    readonly says: RegExp;
  }>([
    {
      name: "a token for another node",
      act: async () => joining("mine", await token({ node: "theirs" })),
      says: /^refused: the join token is for the node theirs, and this one says that it is mine: call it theirs \(--node-id/,
    },
    {
      name: "one that has expired",
      act: async () => {
        const by = await token({}, 60);
        offset.ms = 120_000;
        const joined = await joining("late", by);
        offset.ms = 0;
        return joined;
      },
      says: /^refused: the join token expired at .* UTC, and the control plane's clock says .* UTC: .*; this machine's clock says/,
    },
    {
      name: "one that was revoked",
      act: async () => {
        const by = await token();
        await (await admin()).revokeToken({ token: by.id }, { headers: headers() });
        return joining("revoked", by);
      },
      says: /^refused: the join token was revoked: `llmgw ctl token create` makes another$/,
    },
    {
      name: "one that nobody made",
      act: async () => joining("guess", { ...(await token()), secret: `llmgw-join-${"x".repeat(43)}` }),
      says: /^refused: this control plane does not know the join token: was it copied whole/,
    },
    {
      name: "one of another authority, before anything is sent",
      act: async () => joining("elsewhere", { ...(await token()), pin: "A".repeat(43) }),
      says: /^refused: it does not show the authority that the token vouches for/,
    },
    {
      name: "http where the token vouches for https",
      act: async () => joining("plain", await token(), { server: server.url.replace("https", "http") }),
      says: /^refused: the token vouches for a control plane that speaks https/,
    },
    {
      name: "a token without an authority, where the machine knows none",
      act: async () => joining("unknown", { ...(await token()), pin: undefined }),
      says: /^refused: its certificate is not of an authority that this machine trusts/,
    },
    {
      name: "a clock two days ahead",
      act: async () => joining("fast", await token(), { now: millis(Date.now() + 48 * HOUR_MS) }),
      says: /^refused: the node's clock is 2d ahead of the control plane's, which says .* UTC: set the wrong one right/,
    },
    {
      name: "a clock two days behind",
      act: async () => joining("slow", await token(), { now: millis(Date.now() - 48 * HOUR_MS) }),
      says: /^refused: the node's clock is 2d behind the control plane's/,
    },
    {
      name: "a name that no certificate can carry",
      act: async () => joining("x".repeat(65), await token()),
      says: /^refused: .*has 65 characters, and a certificate's common name has at most 64/,
    },
    {
      name: "nobody there",
      act: async () => joining("x", await token(), { server: "https://127.0.0.1:1" }),
      says: /^unreachable: /,
    },
  ])("$name", async ({ act, says }) => {
    expect(why(await act())).toMatch(says);
  });

  test("a clock that was off costs no use", async () => {
    const by = await token();
    await joining("off", by, { now: millis(Date.now() + HOUR_MS) });
    expect((await joining("off", by)).answer.ok).toBe(true);
  });

  test("the name of a node that is connected, unless the token is for exactly that one", async () => {
    const first = await joining("held", await token());
    if (!first.answer.ok || first.answer.value.kind !== "certificate") throw new Error(why(first));
    const pair = { cert: first.answer.value.certificate, key: first.key };
    const agent = new ScriptedAgent(await connect(pair), { node: "held" }).beatEvery(100);
    await expect.poll(() => agent.desired?.revision, soon).toBeDefined();
    expect(why(await joining("held", await token()))).toMatch(
      /^refused: a node held is connected already, from held \(10\.0\.0\.1\): .*--node held/,
    );
    expect((await joining("held", await token({ node: "held" }))).answer.ok).toBe(true);
    await agent.drop();
  });

  test.each([
    { name: "no request", request: () => Promise.resolve(""), says: /no signing request was sent/ },
    {
      name: "rubbish",
      request: () => Promise.resolve("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----"),
      says: /cannot be read/,
    },
    {
      name: "another name",
      request: async () => signingRequest("somebody", await newPrivateKey()),
      says: /names somebody, and the node is me/,
    },
  ])("a request to sign: $name", async ({ request, says }) => {
    const by = await token();
    const client = createClient(JoinService, await connect());
    const call = client.join(
      { nodeId: "me", signingRequest: await request(), clock: timestampFromMs(Date.now()) },
      { headers: { authorization: `Bearer ${by.secret}` } },
    );
    const refusal = await call.then(
      () => undefined,
      (error: unknown) => ConnectError.from(error),
    );
    expect(refusal?.rawMessage).toMatch(says);
    expect(refusal?.code).toBe(Code.InvalidArgument);
  });
});

test("without the authority's key no token is made for nodes, and the reason says where it is missing", async () => {
  const key = join(certs, "ca-key.pem");
  const by = await token();
  await rename(key, `${key}.away`);
  await expect(token()).rejects.toThrow(
    /does not hold the authority's key, .*: put ca-key\.pem into .*certs, or issue/,
  );
  const joined = await joining("keyless", by);
  await rename(`${key}.away`, key);
  expect(why(joined)).toMatch(/^refused: the control plane does not hold the authority's key/);
  expect((await joining("keyless", by)).answer.ok).toBe(true);
  const { events } = await (await admin()).listEvents({ subject: "keyless" }, { headers: headers() });
  expect(events[0]).toMatchObject({ reason: "NodeRefused", level: "warning" });
});

test("nothing that is stored holds a token, and the store is its owner's alone", async () => {
  const { secret } = await token();
  const data = join(folder, "data", "server.db");
  expect((await stat(data)).mode & 0o777).toBe(0o600);
  for (const file of [data, `${data}-wal`]) {
    expect(await readFile(file, "latin1").catch(() => "")).not.toContain(secret.slice(0, 30));
  }
});

describe("over plain http", () => {
  /** As a proxy on this machine would pass on what comes from elsewhere. */
  const fromElsewhere = (transport: Transport, secret?: string): Transport => {
    const more = {
      "x-forwarded-for": "192.0.2.7",
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    };
    return {
      unary: (method, signal, timeout, header, message, values) =>
        transport.unary(method, signal, timeout, { ...header, ...more }, message, values),
      stream: (method, signal, timeout, header, input, values) =>
        transport.stream(method, signal, timeout, { ...header, ...more }, input, values),
    };
  };
  const refusalOf = async (agent: ScriptedAgent): Promise<string> => {
    await agent.ended;
    return ConnectError.from(agent.failure).rawMessage;
  };

  test("a node from elsewhere stands by its token, for as long as the token is in force", async () => {
    const on = await site(overSockets);
    const grant = { case: "join", value: { node: "", uses: 1 } } as const;
    const { secret, token: made } = await on.admin.createToken({ ttlSeconds: 3600, grant });
    expect(readToken(secret)?.pin).toBeUndefined();

    const nobody = new ScriptedAgent(fromElsewhere(on.connect()), { node: "n1" });
    expect(await refusalOf(nobody)).toMatch(/a join token is needed, and none was shown: `llmgw ctl token create`/);
    const first = new ScriptedAgent(fromElsewhere(on.connect(), secret), { node: "n1" }).beatEvery(100);
    stops.push(() => first.drop());
    await expect.poll(() => first.desired?.revision, soon).toBe(1);
    const second = new ScriptedAgent(fromElsewhere(on.connect(), secret), { node: "n2" });
    expect(await refusalOf(second)).toMatch(/the join token is used up, by n1/);
    await first.drop();

    // The same node comes again by the same token.
    const again = new ScriptedAgent(fromElsewhere(on.connect(), secret), { node: "n1" }).beatEvery(100);
    stops.push(() => again.drop());
    await expect.poll(() => again.desired?.revision, soon).toBe(1);
    await on.admin.revokeToken({ token: made?.id ?? "" });
    expect(await refusalOf(again)).toBe("the node's join token was revoked");
    expect(await reasons(on, made?.id)).toEqual(["TokenCreated", "TokenUsed", "TokenRevoked"]);
  });

  test("whoever is on the machine itself needs none", async () => {
    const on = await site(overSockets);
    const agent = new ScriptedAgent(on.connect(), { node: "n1" });
    stops.push(() => agent.drop());
    await expect.poll(() => agent.desired?.revision, soon).toBe(1);
  });
});

describe("roles", () => {
  test("a viewer reads and orders nothing; an operator's orders are in the record with name and address", async () => {
    const on = await site(overSockets);
    const made = async (name: string, role: string) => {
      const { secret } = await on.admin.createToken({ ttlSeconds: 60, grant: { case: "user", value: { name, role } } });
      return { headers: { authorization: `Bearer ${secret}` } };
    };
    const client = createClient(AdminService, on.connect());
    const viewer = await made("vera", "viewer");
    const operator = await made("otto", "operator");
    expect(await client.getCaller({}, viewer)).toMatchObject({ name: "vera (viewer)", role: "viewer" });
    expect((await client.listNodes({}, viewer)).nodes).toEqual([]);
    const manifest = "kind: Profile\nname: smol\nmodel: { source: hf:a/b }\n";
    const refused = await client.apply({ manifest }, viewer).catch((error: unknown) => ConnectError.from(error));
    expect(refused).toMatchObject({ code: Code.PermissionDenied });
    expect(refused).toMatchObject({
      rawMessage: expect.stringMatching(/^vera \(viewer\) may not call Apply/) as string,
    });
    await client.apply({ manifest }, operator);
    await client.scale({ profile: "smol", replicas: 3 }, operator);
    await client.delete({ kind: "Profile", name: "smol" }, operator);
    await expect(client.createKey({ name: "k" }, operator)).rejects.toThrow(/wants the role admin/);
    await on.admin.createKey({ name: "k" });
    const { events } = await on.admin.listEvents({ subject: "smol" });
    const orders = events.filter(({ reason }) => reason === "Ordered").map(({ message }) => message);
    expect(orders).toEqual([
      "otto (operator) from 127.0.0.1: Profile smol created",
      "otto (operator) from 127.0.0.1: profile smol scaled from 1 to 3 replicas",
      "otto (operator) from 127.0.0.1: Profile smol deleted",
    ]);
    const key = only((await on.admin.listEvents({ subject: "k" })).events);
    expect(key.message).toMatch(/was created by the admin token from 127\.0\.0\.1$/);
  });

  test.each([
    { grant: { case: "user", value: { name: "a b", role: "root" } }, says: /not "a b"\nrole takes one of viewer/ },
    { grant: { case: "join", value: { node: "n", uses: 2 } }, says: /a token for one node has one use/ },
    { grant: { case: "join", value: { node: "", uses: 0 } }, says: /uses takes a number from 1/ },
    { grant: { case: undefined }, says: /it is not said what the token is for\n.*at least a second/ },
  ] as const)("a token that makes no sense is refused with every reason: $grant", async ({ grant, says }) => {
    const on = await site(overSockets);
    const ttlSeconds = grant.case === undefined ? 0 : 60;
    await expect(on.admin.createToken({ ttlSeconds, grant })).rejects.toThrow(says);
  });
});
