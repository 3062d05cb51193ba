import { once } from "node:events";
import { createServer as createPlain, type Server } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { millis, replicaId } from "../../src/core/ids.ts";
import type { ReplicaRoute } from "../../src/core/route.ts";
import { certificateSha256 } from "../../src/platform/pinned-tls.ts";
import { createSelfSigned } from "../../src/pki/self-signed.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";

type Made = Awaited<ReturnType<typeof createSelfSigned>>;

const make = (lifetime: number): Promise<Made> => {
  const now = millis(Date.now());
  return createSelfSigned({ commonName: "llmgw engine", names: [], now, lifetime: millis(lifetime) });
};
let own: Made;
let over: Made;
beforeAll(async () => {
  [own, over] = await Promise.all([make(86_400_000), make(-1000)]);
});

let harness: RouterHarness;
const servers: Server[] = [];
/** What was asked, with which key. */
let heard: string[] = [];
beforeEach(async () => {
  heard = [];
  harness = await RouterHarness.start();
});
afterEach(async () => {
  await harness.idle();
  await harness.stop();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** An engine that streams over TLS with the certificate. */
async function engine({ certificate, key }: Made): Promise<number> {
  const server = createServer({ cert: certificate, key }, (request, response) => {
    heard.push(`${request.url ?? ""} ${request.headers.authorization ?? ""}`);
    let size = 0;
    request.on("data", (data: Buffer) => (size += data.length));
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: {"size":${String(size)}}\n\n`);
      response.end("data: [DONE]\n\n");
    });
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const route = (name: string, port: number, known: Made | undefined): ReplicaRoute => ({
  ...{ id: replicaId(name), host: "127.0.0.1", port, apiKey: "ek-secret", slots: 4 },
  ...(known === undefined ? {} : { tlsSha256: certificateSha256(known.der) }),
});
const serve = (...replicas: readonly ReplicaRoute[]): Promise<void> => harness.serve({ m: [1] }, { replicas });
const ask = (content = "Hi"): Promise<Response> =>
  harness.post({ model: "m", stream: true, messages: [{ role: "user", content }] });

test.each([
  { name: "in force", made: () => own },
  // It is known by what it is: an engine may run for longer than anybody has thought of.
  { name: "that is over", made: () => over },
])("an engine with the certificate of its route is asked, $name", async ({ made }) => {
  await serve(route("r1", await engine(made()), made()));
  const first = await ask();
  expect([first.status, first.headers.get("x-llmgw-replica")]).toEqual([200, "r1"]);
  expect(await first.text()).toMatch(/^data: \{"size":\d+\}\n\ndata: \[DONE\]\n\n$/);
  // On the connection that is there already, and with more than one piece.
  expect(await (await ask("x".repeat(300_000))).text()).toMatch(/"size":300\d{3}\}/);
  expect(heard).toEqual(Array.from({ length: 2 }, () => "/v1/chat/completions Bearer ek-secret"));
});

test("whoever shows another certificate hears nothing, neither key nor prompt, and the log says why", async () => {
  await serve(route("r1", await engine(over), own));
  const response = await ask();
  expect(response.status).toBe(502);
  const why =
    /^The engine cannot be reached \(replica r1: it shows another TLS certificate .* nothing was sent to it\)\.$/;
  expect(await errorOf(response)).toMatchObject({
    code: "engine_unavailable",
    message: expect.stringMatching(why) as unknown,
  });
  await harness.logged({ code: 502 }).then(({ detail }) => {
    expect(detail).toMatch(why);
  });
  expect(heard).toEqual([]);
});

test("another replica is asked in its place", async () => {
  const [wrong, right] = [await engine(over), await engine(own)];
  await serve(route("r1", wrong, own), route("r2", right, own));
  for (let count = 0; count < 4; count += 1) {
    const response = await ask();
    expect([response.status, response.headers.get("x-llmgw-replica")]).toEqual([200, "r2"]);
    await response.text();
  }
});

test("a replica that is started anew on its port is known by its new certificate", async () => {
  const port = await engine(own);
  await serve(route("r1", port, over));
  expect((await ask()).status).toBe(502);
  await serve(route("r1", port, own));
  expect(await (await ask()).text()).toContain("[DONE]");
});

test("a plain engine behind a route with a certificate, and the other way round, are no engines", async () => {
  await serve(route("r1", await engine(own), undefined));
  expect((await ask()).status).toBe(502);
  const plain = createPlain((_, response) => response.end()).listen(0, "127.0.0.1");
  servers.push(plain);
  await once(plain, "listening");
  await serve(route("r2", (plain.address() as AddressInfo).port, own));
  expect((await ask()).status).toBe(502);
});
