import { createHash } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterEach, expect, test } from "vitest";
import { until, untilStill } from "../e2e/wait.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD, type UpstreamConnection } from "../fakes/raw-upstream.ts";
import { ReadingEngine } from "../fakes/reading-engine.ts";
import { RouterChild } from "../fakes/router-child.ts";

// Peaks of a router's own process: what a request leaves behind in it is what the numbers are about.

const MIB = 1 << 20;
const piece = Buffer.alloc(MIB, "a");

let child: RouterChild;
let upstream: RawUpstream;

async function start(script: (connection: UpstreamConnection) => Promise<void>): Promise<void> {
  upstream = await RawUpstream.onRequest(script);
  child = await RouterChild.start({ m: [upstream.port] });
}

afterEach(async () => {
  await child.stop();
  await upstream.stop();
});

/** Peak memory above what the router took before. */
async function growth(work: () => Promise<void>): Promise<number> {
  const before = await child.usage();
  await work();
  return (await child.usage()).maxRss - before.maxRss;
}

const ask = (body: object): Promise<Response> =>
  fetch(`${child.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ model: "m", ...body }) });

/** Reads a body without keeping it. */
async function drain(response: Response): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += (part as Uint8Array).length;
    hash.update(part as Uint8Array);
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Writes as an engine with a bounded buffer does: waits for the reader. */
async function writeSlowly(connection: UpstreamConnection, bytes: Buffer): Promise<void> {
  if (!connection.isClosed) await Promise.race([connection.write(bytes), connection.closed]);
}

test("B85 an event of 256 MiB that never ends", async () => {
  await start(async (connection) => {
    await writeSlowly(connection, Buffer.concat([Buffer.from(STREAM_HEAD), chunk("data: ")]));
    for (let n = 0; n < 256; n++) await writeSlowly(connection, chunk(piece));
    await writeSlowly(connection, Buffer.from(LAST_CHUNK));
  });
  const grown = await growth(async () => {
    expect((await drain(await ask({ stream: true }))).bytes).toBe(256 * MIB + 6);
  });
  // What is waiting to be collected counts too; all of the event would be 256.
  expect(grown).toBeLessThan(100 * MIB);
});

test("B90 200 MiB for a client that reads nothing", async () => {
  let written = 0;
  await start(async (connection) => {
    await writeSlowly(connection, Buffer.from(STREAM_HEAD));
    for (let n = 0; n < 200 && !connection.isClosed; n++) {
      await writeSlowly(connection, chunk(piece));
      written = n;
    }
  });
  const grown = await growth(async () => {
    const client = await RawClient.connect(child.url);
    client.socket.pause();
    client.send(post(JSON.stringify({ model: "m", stream: true })));
    await untilStill("the engine held up", () => written);
    expect(written).toBeLessThan(100);
    client.close();
    await until("the engine's connection gone", () => upstream.openConnections === 0);
  });
  expect(grown).toBeLessThan(30 * MIB);
});

test("B92 a body of 24 MiB with the model last", async () => {
  await start(async (connection) => {
    await connection.write(json("{}"));
  });
  const body = `{"messages":[{"content":"${"iVBORw0KGgo".repeat(2_200_000)}"}],"model":"m"}`;
  const grown = await growth(async () => {
    const response = await fetch(`${child.url}/v1/chat/completions`, { method: "POST", body });
    expect(response.status).toBe(200);
  });
  const digest = (bytes: string | Buffer | undefined): string =>
    createHash("sha256")
      .update(bytes ?? "")
      .digest("hex");
  expect(digest(upstream.requests[0]?.body)).toBe(digest(body));
  expect(grown).toBeLessThan(2.5 * body.length);
});

test("B92 four bodies of 60 MiB at a time that say early whom to ask, to an engine that reads at its leisure", async () => {
  const engine = await ReadingEngine.start(undefined, { keeps: false });
  upstream = await RawUpstream.start(() => undefined);
  child = await RouterChild.start({ m: [engine.port] });
  const begin = '{"model":"m","messages":[{"content":"';
  const end = '"}]}';
  const hash = createHash("sha256").update(begin);
  for (let n = 0; n < 60; n++) hash.update(piece);
  const digest = hash.update(end).digest("hex");
  function* body(): Generator<Buffer, undefined> {
    yield Buffer.from(begin);
    for (let n = 0; n < 60; n++) yield piece;
    yield Buffer.from(end);
  }
  const send = async (): Promise<void> => {
    const request = httpRequest(`${child.url}/v1/chat/completions`, { method: "POST" });
    const answered = once(request, "response");
    await pipeline(Readable.from(body()), request);
    const [answer] = (await answered) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    answer.resume();
  };
  const grown = await growth(async () => {
    await Promise.all([send(), send(), send(), send()]);
  });
  expect(engine.requests.map(({ sha256 }) => sha256)).toEqual([digest, digest, digest, digest]);
  // Held they would be 240; four times what is held of one, and what waits to be collected.
  expect(grown).toBeLessThan(80 * MIB);
  await engine.stop();
});

test("prompts of 900 KB whose answers go on for long", async () => {
  await start(async (connection) => {
    await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk('data: {"n":1}\n\n')]));
  });
  const prompt = "a".repeat(900_000);
  const answers: Response[] = [];
  const grown = await growth(async () => {
    for (let n = 0; n < 200; n++)
      answers.push(await ask({ stream: true, messages: [{ role: "user", content: prompt }] }));
  });
  for (const answer of answers) await answer.body?.cancel();
  // All prompts would be 180 MB.
  expect(grown).toBeLessThan(90 * MIB);
});

test("500 streams that say something now and then", async () => {
  const STREAMS = 500;
  const WORDS = 20;
  const word = chunk(
    `data: {"choices":[{"index":0,"delta":{"content":"${"y".repeat(350)}"},"finish_reason":null}]}\n\n`,
  );
  await start(async (connection) => {
    await connection.write(STREAM_HEAD);
    await connection.closed;
  });
  const clients: RawClient[] = [];
  const openAll = async (): Promise<void> => {
    const opened: RawClient[] = [];
    for (let n = 0; n < STREAMS; n++) {
      const client = await RawClient.connect(child.url);
      client.send(post(JSON.stringify({ model: "m", stream: true })));
      opened.push(client);
    }
    clients.push(...opened);
    await until("every request at the engine", () => upstream.requests.length === clients.length);
    const connections = upstream.connections.slice(-STREAMS);
    // One after another, so that each is a read of its own at the router.
    for (let said = 1; said <= WORDS; said++) {
      await Promise.all(connections.map((connection) => connection.write(word)));
      const hasHeard = ({ text }: RawClient): boolean => text.split("data:").length > said;
      await until("every word", () => opened.every(hasHeard));
    }
  };
  // The first ones make the program itself larger.
  await openAll();
  const before = await child.usage();
  await openAll();
  const each = ((await child.usage()).held - before.held) / STREAMS;
  for (const client of clients) client.close();
  // With Buffers of all that may tell the end, and what has read the request, it would be 23,600.
  expect(each).toBeLessThan(21_000);
});

test("B116 43 MB of embeddings for a client that reads in small steps", async () => {
  const answer = Buffer.from(
    `{"data":[${"0.123456789,".repeat(3_600_000)}0],"usage":{"prompt_tokens":500,"total_tokens":500}}`,
  );
  await start(async (connection) => {
    await writeSlowly(
      connection,
      Buffer.from(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${String(answer.length)}\r\n\r\n`,
      ),
    );
    for (let at = 0; at < answer.length; at += 65_536) await writeSlowly(connection, answer.subarray(at, at + 65_536));
  });
  const grown = await growth(async () => {
    const response = await fetch(`${child.url}/v1/embeddings`, { method: "POST", body: '{"model":"m","input":[]}' });
    const { sha256 } = await drain(response);
    expect(sha256).toBe(createHash("sha256").update(answer).digest("hex"));
  });
  expect(grown).toBeLessThan(40 * MIB);
  const metrics = await (await fetch(`${child.url}/metrics`)).text();
  expect(metrics).toContain('llmgw_router_tokens_total{model="m",kind="prompt"} 500');
});
