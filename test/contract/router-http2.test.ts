import { once } from "node:events";
import { connect as connectTls, TLSSocket } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import type { RouterOptions } from "../../src/run/router.ts";
import { until } from "../e2e/wait.ts";
import { Authority } from "../fakes/certificates.ts";
import { RawClient } from "../fakes/raw-client.ts";
import type { RawUpstream } from "../fakes/raw-upstream.ts";
import { RouterHarness } from "../fakes/router-harness.ts";
import { VersionClient } from "../fakes/versions-client.ts";

// What there is of HTTP/2 alone: connections, and frames that no client sends.

const authority = new Authority();
const issue = (commonName: string) => authority.issue({ commonName, dns: ["localhost"], ips: ["127.0.0.1"] });

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const SETTINGS = 0x4;
const HEADERS = 0x1;
const END_HEADERS = 0x4;
const END_STREAM = 0x1;

function frame(type: number, flags: number, of: { readonly id?: number; readonly payload?: Buffer } = {}): Buffer {
  const { id = 0, payload = Buffer.alloc(0) } = of;
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

/** A field of HPACK, as a literal that is not remembered. */
const field = (name: string, value: string): Buffer =>
  Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name, "latin1"),
    Buffer.from([value.length]),
    Buffer.from(value, "latin1"),
  ]);

const heads = (fields: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat(fields.map(([name, value]) => field(name, value)));

let harness: RouterHarness;
let client: VersionClient | undefined;

afterEach(async () => {
  client?.close();
  client = undefined;
  await harness.idle();
  await harness.stop();
});

async function start(options: Partial<RouterOptions> = {}): Promise<RawUpstream> {
  const started = await RouterHarness.answering(options);
  ({ harness } = started);
  return started.upstream;
}

const lastLog = () => harness.logs.filter((line) => String(line["msg"]).startsWith("malformed")).length;

test("the handshake chooses: HTTP/2 where it is offered, HTTP/1.1 for whoever says nothing", async () => {
  await start({ tls: issue("router") });
  const { port } = new URL(harness.url);
  const chosen = async (ALPNProtocols: readonly string[]): Promise<string | false | null> => {
    const socket = connectTls({ port: Number(port), ca: authority.ca, ALPNProtocols: [...ALPNProtocols] });
    await once(socket, "secureConnect");
    const { alpnProtocol } = socket;
    socket.destroy();
    return alpnProtocol;
  };
  expect([await chosen(["http/1.1", "h2"]), await chosen(["http/1.1"]), await chosen([])]).toEqual([
    "h2",
    "http/1.1",
    false,
  ]);
});

test("another certificate is shown to new connections, and those that are there go on", async () => {
  await start({ tls: issue("first") });
  client = new VersionClient("HTTP/2 with TLS", harness.url, authority.ca);
  expect((await client.ask({ body: '{"model":"m"}' }).ended()).status).toBe(200);
  harness.router.renewTls(issue("second"));
  expect((await client.ask({ body: '{"model":"m"}' }).ended()).status).toBe(200);
  const later = new VersionClient("HTTP/2 with TLS", harness.url, authority.ca);
  expect((await later.ask({ body: '{"model":"m"}' }).ended()).status).toBe(200);
  const { socket } = later.session ?? {};
  const certificate = socket instanceof TLSSocket ? socket.getPeerCertificate() : undefined;
  later.close();
  expect(certificate?.subject.CN).toBe("second");
});

test("a hundred requests share a connection, and each has its own answer", async () => {
  const upstream = await start();
  client = new VersionClient("HTTP/2", harness.url);
  const models = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? "m" : "none"));
  const shared = client;
  const calls = models.map((model) => shared.ask({ body: JSON.stringify({ model }) }));
  const codes = await Promise.all(calls.map(async (call) => (await call.ended()).status));
  expect(codes).toEqual(models.map((model) => (model === "m" ? 200 : 404)));
  expect(upstream.requests).toHaveLength(50);
});

test("one of many that leaves ends its own engine's request alone", async () => {
  harness = await RouterHarness.start({ limits: { tick: millis(20) } });
  const upstream = await harness.upstream(() => undefined);
  await harness.serve({ m: [upstream] });
  client = new VersionClient("HTTP/2", harness.url);
  const first = client.ask({ body: '{"model":"m"}' });
  client.ask({ body: '{"model":"m"}' });
  await until("both asked", () => upstream.openConnections === 2);
  first.abort();
  await until("one gone", () => upstream.openConnections === 1);
  client.session?.destroy();
  await until("both gone", () => upstream.openConnections === 0);
});

test("a body with trailers is whole, and they stay here", async () => {
  const upstream = await start();
  client = new VersionClient("HTTP/2", harness.url);
  const headers = { ":method": "POST", ":path": "/v1/chat/completions", "content-type": "application/json" };
  const stream = client.session?.request(headers, { waitForTrailers: true, endStream: false });
  stream?.on("wantTrailers", () => {
    stream.sendTrailers({ "x-t": "1" });
  });
  stream?.end('{"model":"m"}');
  stream?.resume();
  await until("the answer", () => stream?.sentTrailers !== undefined && stream.destroyed);
  expect(upstream.requests.map(({ body }) => body.toString())).toEqual(['{"model":"m"}']);
  expect(upstream.requests[0]?.head).not.toMatch(/x-t|transfer-encoding/i);
});

test("a body of another length than was said reaches no engine", async () => {
  const upstream = await start();
  client = new VersionClient("HTTP/2", harness.url);
  const headers = { "content-length": "5" };
  expect((await client.ask({ body: '{"model":"m"}', headers }).ended()).end).toBe("cut");
  expect((await harness.post({ model: "m" })).status).toBe(200);
  expect(upstream.requests).toHaveLength(1);
});

test("one that asks and leaves at once, over and over, is sent away, and nothing of it stays", async () => {
  const upstream = await start();
  const flood = new VersionClient("HTTP/2", harness.url);
  const { session } = flood;
  for (let n = 0; n < 100 && session?.closed === false; n++) {
    const calls = Array.from({ length: 50 }, () => flood.ask({ body: '{"model":"m"}' }));
    await new Promise((resolve) => setImmediate(resolve));
    for (const call of calls) call.abort();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until("the connection's end", () => session?.destroyed === true, { timeoutMs: 10_000 });
  flood.close();
  await harness.idle();
  await until("the engine left alone", () => upstream.openConnections <= 4);
  expect((await harness.post({ model: "m" })).status).toBe(200);
});

describe("connections that nothing is asked on", () => {
  test("one is told to go when it has been idle for long", async () => {
    await start({ limits: { clientIdle: millis(200) } });
    client = new VersionClient("HTTP/2", harness.url);
    expect((await client.ask({ body: '{"model":"m"}' }).ended()).status).toBe(200);
    await until("GOAWAY", () => client?.session?.closed === true);
  });

  test.each([
    { name: "says nothing more", bytes: Buffer.alloc(0) },
    { name: "stops within a head", bytes: frame(HEADERS, END_STREAM, { id: 1, payload: field(":method", "POST") }) },
  ])("B111 one that $name is closed in the time that a head may take", async ({ bytes }) => {
    await start({ limits: { headTime: millis(200), tick: millis(20) } });
    const raw = await RawClient.connect(harness.url);
    raw.send(Buffer.concat([PREFACE, frame(SETTINGS, 0), bytes]));
    await raw.waitForClose();
  });

  test("one that never ends its handshake is closed in that time too", async () => {
    await start({ tls: issue("router"), limits: { headTime: millis(200), tick: millis(20) } });
    const raw = await RawClient.connect(harness.url);
    raw.send(Buffer.from("160301020001", "hex"));
    await raw.waitForClose();
    expect(await harness.logged({ msg: "TLS handshake failed" })).toMatchObject({
      detail: "ERR_TLS_HANDSHAKE_TIMEOUT",
    });
  });

  test("one in the middle of its handshake does not hold up a router that stops", async () => {
    await start({ tls: issue("router"), limits: { stop: millis(3_600_000) } });
    const raw = await RawClient.connect(harness.url);
    raw.send(Buffer.from("160301020001", "hex"));
    await harness.router.stop();
    await raw.waitForClose();
  });

  test("one that speaks no TLS where TLS is spoken is closed, and told of in the log", async () => {
    await start({ tls: issue("router") });
    const raw = await RawClient.connect(harness.url);
    raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.waitForClose();
    expect(await harness.logged({ msg: "TLS handshake failed" })).toMatchObject({ detail: "ERR_SSL_HTTP_REQUEST" });
  });

  test("one that does not even say what it speaks is closed, at once when the router stops", async () => {
    await start();
    const raw = await RawClient.connect(harness.url);
    raw.send("PR");
    const other = await RawClient.connect(harness.url);
    await harness.router.stop();
    await Promise.all([raw.waitForClose(), other.waitForClose()]);
  });
});

test.each([
  { name: "no preface", bytes: Buffer.from("PRI * HTTP/2.0\r\n\r\nnothing of the kind") },
  { name: "a frame of an impossible length", bytes: Buffer.concat([PREFACE, Buffer.alloc(64, 0xff)]) },
  {
    name: "a head that is no HPACK",
    bytes: Buffer.concat([
      PREFACE,
      frame(SETTINGS, 0),
      frame(HEADERS, END_HEADERS, { id: 1, payload: Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) }),
    ]),
  },
])("$name ends its connection, with a line in the log, and no other", async ({ bytes }) => {
  const upstream = await start();
  const raw = await RawClient.connect(harness.url);
  raw.send(bytes);
  await raw.waitForClose();
  expect(lastLog()).toBe(1);
  expect((await harness.post({ model: "m" })).status).toBe(200);
  expect(upstream.requests).toHaveLength(1);
});

test.each([
  { name: "a path with a space", fields: [[":path", "/v1/chat/completions?a= HTTP/1.1"]] as const },
  { name: "a path with a line end", fields: [[":path", "/v1/chat/completions?a=\r\nX: 1"]] as const },
  {
    name: "a header with a line end",
    fields: [
      [":path", "/v1/chat/completions"],
      ["x-a", "1\r\nX-B: 2"],
    ] as const,
  },
  {
    name: "a header of the connection",
    fields: [
      [":path", "/v1/chat/completions"],
      ["transfer-encoding", "chunked"],
    ] as const,
  },
])("$name reaches no engine as that", async ({ fields }) => {
  const upstream = await start();
  const raw = await RawClient.connect(harness.url);
  const pseudo = [
    [":method", "POST"],
    [":scheme", "http"],
    [":authority", "x"],
  ] as const;
  const DATA = 0x0;
  raw.send(
    Buffer.concat([
      PREFACE,
      frame(SETTINGS, 0),
      frame(HEADERS, END_HEADERS, { id: 1, payload: heads([...pseudo, ...fields]) }),
      frame(DATA, END_STREAM, { id: 1, payload: Buffer.from('{"model":"m"}') }),
    ]),
  );
  // It may be refused, or go on without what cannot be said in HTTP/1.1.
  await until("an answer", () => raw.bytes.length > 60);
  expect((await harness.post({ model: "m" })).status).toBe(200);
  expect(upstream.requests.filter(({ head }) => /HTTP\/1\.1\r\n[^]* HTTP|X-B|\r\nX: 1|chunked/i.test(head))).toEqual(
    [],
  );
  raw.close();
});
