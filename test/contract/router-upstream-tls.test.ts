import { afterEach, expect, test } from "vitest";
import { Authority } from "../fakes/certificates.ts";
import { chunk, json, RawUpstream, saying, type Script, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";
import { upstreamRoute, type Where } from "../fakes/upstream-route.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const serve = (where: Where): Promise<void> => harness.serve({ big: [where.port] }, upstreamRoute(where));

const authority = new Authority();
const good = authority.issue({ commonName: "x", ips: ["127.0.0.1"], dns: ["localhost"] });

test("what is good is used, and one connection for several requests; large bodies go both ways", async () => {
  harness = await RouterHarness.start();
  const large = JSON.stringify({ text: "ü".repeat(2_000_000) });
  const upstream = harness.adopt(await RawUpstream.secure(saying(json(large)), good));
  await serve({ port: upstream.port, ca: authority.ca });
  const body = JSON.stringify({ model: "big", messages: [{ role: "user", content: "é".repeat(300_000) }] });
  for (let turn = 0; turn < 2; turn++) {
    const answer = await harness.post(body);
    expect(answer.status).toBe(200);
    expect((await answer.text()) === large).toBe(true);
  }
  expect(upstream.requests.map((request) => String(request.body) === body)).toEqual([true, true]);
  expect(upstream.connections).toHaveLength(1);
});

test("by name, which is told in the handshake and in the Host header", async () => {
  harness = await RouterHarness.start();
  const named = authority.issue({ commonName: "x", dns: ["localhost"] });
  const upstream = harness.adopt(await RawUpstream.secure(saying(json('{"ok":true}')), named));
  await serve({ port: upstream.port, ca: authority.ca, host: "localhost" });
  expect((await harness.post({ model: "big", messages: [] })).status).toBe(200);
  expect((upstream.requests[0]?.head ?? "").split("\r\n")).toContain(`Host: localhost:${String(upstream.port)}`);
});

/** 200 MB: several times what the system's own buffers can take on the way. */
const OFFERED = 3_400;
const EVENT = chunk(`data: ${JSON.stringify({ text: "x".repeat(60_000) })}\n\n`);

test("a client that does not read holds the upstream back, and one that leaves ends its request", async () => {
  harness = await RouterHarness.start();
  let written = 0;
  let isOver = false;
  const flood: Script = async (connection) => {
    void connection.closed.then(() => (isOver = true));
    await connection.write(STREAM_HEAD);
    while (!connection.isClosed && written < OFFERED) {
      await Promise.race([connection.write(EVENT), connection.closed]);
      written += 1;
    }
  };
  const upstream = harness.adopt(
    await RawUpstream.secure(async (connection, own) => {
      const request = await connection.request();
      if (String(request?.body).includes('"stream":true')) await flood(connection, own);
      else connection.end(json('{"ok":true}', "Connection: close\r\n"));
    }, good),
  );
  await serve({ port: upstream.port, ca: authority.ca });
  const leaving = new AbortController();
  const answer = await harness.post({ model: "big", stream: true, messages: [] }, { signal: leaving.signal });
  expect(answer.status).toBe(200);
  // A router that goes on reading has read more by the time it has given others their whole answers.
  const isHeldBack = async (): Promise<boolean> => {
    const before = written;
    for (let turn = 0; turn < 5; turn++) {
      const other = await harness.post({ model: "big", messages: [] });
      expect(await other.text()).toBe('{"ok":true}');
    }
    return before > 0 && written === before;
  };
  await expect.poll(isHeldBack, { interval: 0, timeout: 20_000 }).toBe(true);
  expect(written).toBeLessThan(OFFERED / 2);
  leaving.abort();
  await expect.poll(() => isOver).toBe(true);
});

const another = new Authority("somebody else");
const tls = (code: string): string => `The upstream cannot be reached (upstream/cloud: ${code})`;
test.each([
  ["of an authority that is not named", good, another.ca, tls("UNABLE_TO_VERIFY_LEAF_SIGNATURE")],
  ["of an authority that nobody trusts", good, "", tls("UNABLE_TO_VERIFY_LEAF_SIGNATURE")],
  [
    "for another name",
    authority.issue({ commonName: "127.0.0.1", dns: ["elsewhere.example"] }),
    ...([authority.ca, tls("ERR_TLS_CERT_ALTNAME_INVALID")] as const),
  ],
  [
    "that is over",
    authority.issue({ commonName: "x", ips: ["127.0.0.1"], expired: true }),
    ...([authority.ca, tls("CERT_HAS_EXPIRED")] as const),
  ],
])("a certificate %s: nothing is sent", async (_, shown, ca, sentence) => {
  harness = await RouterHarness.start();
  const upstream = harness.adopt(await RawUpstream.secure(saying(json('{"ok":true}')), shown));
  await serve({ port: upstream.port, ca });
  const answer = await harness.post({ model: "big", messages: [] });
  expect([answer.status, (await errorOf(answer)).message]).toEqual([502, expect.stringContaining(sentence)]);
  expect(upstream.requests).toEqual([]);
});

test("what speaks none of it is not asked in the clear", async () => {
  harness = await RouterHarness.start();
  const heard: Buffer[] = [];
  const upstream = await harness.upstream((connection) => {
    connection.socket.on("data", (bytes: Buffer) => heard.push(bytes));
    connection.socket.once("data", () => {
      connection.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    });
  });
  await serve({ port: upstream.port, ca: authority.ca });
  const answer = await harness.post({ model: "big", messages: [] });
  expect(answer.status).toBe(502);
  expect((await errorOf(answer)).message).toContain("The upstream cannot be reached (upstream/cloud: ");
  expect(Buffer.concat(heard).toString("latin1")).not.toMatch(/POST|sk-of-the-upstream/);
});
