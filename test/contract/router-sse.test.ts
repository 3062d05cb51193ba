import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { until } from "../e2e/wait.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { chunk, LAST_CHUNK, RawUpstream, STREAM_HEAD, type UpstreamConnection } from "../fakes/raw-upstream.ts";
import { RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const ASK = { model: "m", stream: true };
const FIRST = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const FINISH = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
const USAGE = 'data: {"id":"c","choices":[],"usage":{"prompt_tokens":13,"completion_tokens":20,"total_tokens":33}}\n\n';
const DONE = "data: [DONE]\n\n";

async function start(
  script: (connection: UpstreamConnection) => Promise<void> | void,
  limits = {},
): Promise<RawUpstream> {
  harness = await RouterHarness.start({ limits: { tick: millis(20), ...limits } });
  const upstream = harness.adopt(await RawUpstream.onRequest(script));
  await harness.serve({ m: [upstream] });
  return upstream;
}

/** An engine that sends these pieces, each in a write and chunk of its own. */
const streaming =
  (...pieces: readonly (string | Buffer)[]) =>
  async (connection: UpstreamConnection) => {
    await connection.write(STREAM_HEAD);
    for (const piece of pieces) await connection.write(chunk(piece));
    await connection.write(LAST_CHUNK);
  };

async function read(response: Response): Promise<string> {
  return Buffer.from(await response.arrayBuffer()).toString();
}

describe("bytes", () => {
  test("B74 a multi-byte character cut at every place arrives whole", async () => {
    const event = Buffer.from('data: {"choices":[{"delta":{"content":"北京🌍"}}]}\n\n');
    let cut = 0;
    await start((connection) => streaming(event.subarray(0, cut), event.subarray(cut), DONE)(connection));
    for (cut = 1; cut < event.length; cut++) {
      const bytes = Buffer.from(await (await harness.post(ASK)).arrayBuffer());
      expect(bytes.equals(Buffer.concat([event, Buffer.from(DONE)]))).toBe(true);
    }
  });

  test("any bytes in any pieces and any framing come out as they went in", async () => {
    let payload = Buffer.alloc(0);
    let pieces: readonly Buffer[] = [];
    let framing: "chunked" | "length" | "close" = "chunked";
    await start(async (connection) => {
      const framings = {
        chunked: "Transfer-Encoding: chunked",
        length: `Content-Length: ${String(payload.length)}`,
        close: "Connection: close",
      };
      await connection.write(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${framings[framing]}\r\n\r\n`);
      for (const piece of pieces) await connection.write(framing === "chunked" ? chunk(piece) : piece);
      if (framing === "chunked") await connection.write(LAST_CHUNK);
      if (framing === "close") connection.end();
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 5_000 }), { maxLength: 6 }),
        fc.constantFrom("chunked", "length", "close"),
        async (parts, how) => {
          pieces = parts.map((part) => Buffer.from(part));
          payload = Buffer.concat(pieces);
          framing = how;
          const bytes = Buffer.from(await (await harness.post(ASK)).arrayBuffer());
          expect(bytes.equals(payload)).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("B77 comments pass as comments", async () => {
    const text = `: PROCESSING\n\n:\n\n${FIRST}: x\n${FINISH}${DONE}`;
    await start(streaming(text));
    expect(await read(await harness.post(ASK))).toBe(text);
    expect(await harness.metric('llmgw_router_time_to_first_token_seconds_count{model="m"}')).toBe(1);
  });

  test("B82 the usage event passes once and is counted", async () => {
    const text = FIRST + FINISH + USAGE + DONE;
    await start(streaming(text));
    const answer = await read(await harness.post({ ...ASK, stream_options: { include_usage: true } }));
    expect(answer).toBe(text);
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="prompt"}')).toBe(13);
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="completion"}')).toBe(20);
  });

  test("B86 a line of 3 MiB passes, and the usage after it is counted", async () => {
    const long = `data: {"x":"${"a".repeat(3 << 20)}"}\n\n`;
    await start(streaming(long, USAGE, DONE));
    expect(await read(await harness.post(ASK))).toBe(long + USAGE + DONE);
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="prompt"}')).toBe(13);
  });

  test("B85 an event that never ends passes, and the next one is counted", async () => {
    const piece = Buffer.alloc(1 << 20, "a");
    await start(async (connection) => {
      await connection.write(STREAM_HEAD + chunk("data: ").toString());
      for (let n = 0; n < 64; n++) await connection.write(chunk(piece));
      await connection.write(Buffer.concat([chunk(`\n\n${USAGE}${DONE}`), Buffer.from(LAST_CHUNK)]));
    });
    const answer = await (await harness.post(ASK)).arrayBuffer();
    expect(answer.byteLength).toBe(6 + 64 * piece.length + 2 + USAGE.length + DONE.length);
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="completion"}')).toBe(20);
  });

  test("B88 a stream is never compressed, and says so to proxies", async () => {
    const upstream = await start(async (connection) => {
      const head = STREAM_HEAD.replace("\r\n\r\n", "\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\n\r\n");
      await connection.write(Buffer.concat([Buffer.from(head), chunk(FIRST + DONE), Buffer.from(LAST_CHUNK)]));
    });
    const client = await RawClient.connect(harness.url);
    client.send(post(JSON.stringify(ASK), "Accept-Encoding: gzip, br, zstd\r\n"));
    const text = (await client.waitFor("[DONE]")).toLowerCase();
    expect(text).not.toContain("content-encoding");
    // Once each, although the engine says so itself.
    expect(text.match(/cache-control: .*/g)).toEqual(["cache-control: no-cache, no-transform"]);
    expect(text.match(/x-accel-buffering: .*/g)).toEqual(["x-accel-buffering: no"]);
    expect(upstream.requests[0]?.head.toLowerCase()).not.toContain("accept-encoding");
    client.close();
  });

  test("B89 the head is at the client while the engine has no token yet", async () => {
    let open: UpstreamConnection | undefined;
    await start(async (connection) => {
      open = connection;
      await connection.write(STREAM_HEAD);
    });
    // fetch resolves with the head; the first event is sent only after it has.
    const response = await harness.post(ASK);
    expect(response.status).toBe(200);
    await open?.write(Buffer.concat([chunk(FINISH + DONE), Buffer.from(LAST_CHUNK)]));
    expect(await read(response)).toBe(FINISH + DONE);
  });
});

describe("how a stream ends", () => {
  test.each([
    ["B80 a finish reason without [DONE] is complete", FIRST + FINISH, "complete", 200],
    ["B80 neither is truncated", FIRST, "truncated", 502],
    [
      "B81 an error inside a 200",
      'data: {"error":{"message":"TimeoutError","type":"GatewayTimeout","code":504}}\n\ndata: [DONE]\n\n',
      "engine_error",
      504,
    ],
  ])("%s", async (_name, text, outcome, code) => {
    await start(streaming(text));
    expect(await read(await harness.post(ASK))).toBe(text);
    const line = await harness.logged({ msg: "request", model: "m" });
    expect(line).toMatchObject({ outcome, code });
    expect(await harness.metric(`llmgw_router_requests_total{model="m",code="${String(code)}"}`)).toBe(1);
    expect(await harness.metric('llmgw_router_requests_total{model="m",code="200"}')).toBe(code === 200 ? 1 : 0);
    expect(await harness.metric(`llmgw_router_streams_cut_total{reason="${outcome}"}`)).toBe(code === 200 ? 0 : 1);
    const isToken = outcome !== "engine_error";
    expect(await harness.metric('llmgw_router_time_to_first_token_seconds_count{model="m"}')).toBe(isToken ? 1 : 0);
  });

  test.each([
    ["between events", FIRST, ""],
    ["inside an event", `${FIRST}data: {"cho`, "\n\n"],
  ])("an engine that dies %s: an error event, the end, and no [DONE]", async (_name, sent, border) => {
    await start(async (connection) => {
      await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk(sent)]));
      connection.reset();
    });
    const text = await read(await harness.post(ASK));
    expect(text.startsWith(`${sent}${border}data: {"error":{"message":"The engine broke off`)).toBe(true);
    expect(text.endsWith("\n\n")).toBe(true);
    expect(text).not.toContain("[DONE]");
    const event = JSON.parse(text.slice(text.lastIndexOf("data: ") + 6)) as { error: { type: string; code: string } };
    expect(event.error).toMatchObject({ type: "upstream_error", code: "engine_unavailable" });
    expect(await harness.metric('llmgw_router_streams_cut_total{reason="broke"}')).toBe(1);
    expect(await harness.metric('llmgw_router_requests_total{model="m",code="502"}')).toBe(1);
  });

  test("on Anthropic's path the error event has a name and Anthropic's shape", async () => {
    await start(async (connection) => {
      await connection.write(
        Buffer.concat([Buffer.from(STREAM_HEAD), chunk('event: ping\ndata: {"type":"ping"}\n\n')]),
      );
      connection.reset();
    });
    const text = await read(await harness.post(ASK, { path: "/v1/messages" }));
    expect(text).toContain(
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"The engine broke off',
    );
  });

  test("a stream whose last chunk never comes is broken, not complete", async () => {
    await start(async (connection) => {
      await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk(FIRST + FINISH + DONE)]));
      connection.end();
    });
    expect(await read(await harness.post(ASK))).toContain('"code":"engine_unavailable"');
    await harness.logged({ outcome: "broke" });
  });
});

describe("B78 the router's own keep-alive", () => {
  test("is one comment line, only between events, and stops when events come", async () => {
    let open: UpstreamConnection | undefined;
    await start(
      async (connection) => {
        open = connection;
        await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk(`id: 1\n${FIRST}`)]));
      },
      { streamComment: millis(40) },
    );
    const client = await RawClient.connect(harness.url);
    client.send(post(JSON.stringify(ASK)));
    await until("two comments", () => client.text.split(": waiting\n").length > 2);
    await open?.write(chunk('data: {"cut'));
    await client.waitFor("cut");
    const before = client.text.split(": waiting\n").length;
    // Long enough for several comments, were they allowed here: the tick's own log of time is the fact waited for.
    const openedAt = performance.now();
    await until("five intervals", () => performance.now() - openedAt > 200);
    expect(client.text.split(": waiting\n").length).toBe(before);
    await open?.write(Buffer.concat([chunk(`":1}\n\n${FINISH}${DONE}`), Buffer.from(LAST_CHUNK)]));
    const text = await client.waitFor("[DONE]");
    expect(text).not.toContain(": waiting\n\n");
    expect(text).toContain('data: {"cut');
    client.close();
  });

  test("is not sent into a JSON answer", async () => {
    let open: UpstreamConnection | undefined;
    await start(
      async (connection) => {
        open = connection;
        await connection.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{");
      },
      { streamComment: millis(20) },
    );
    const response = await harness.post({ model: "m" });
    const openedAt = performance.now();
    await until("five intervals", () => performance.now() - openedAt > 100);
    await open?.write('"a": 1}');
    expect(await read(response)).toBe('{"a": 1}');
  });
});

describe("B90 a client that does not read", () => {
  test("holds the engine up, and its leaving ends the engine's request", async () => {
    const piece = chunk(Buffer.alloc(1 << 20, "x"));
    let isBlocked = false;
    const upstream = await start(async (connection) => {
      await connection.write(STREAM_HEAD);
      for (let n = 0; n < 200 && !connection.isClosed; n++) {
        if (connection.socket.write(piece)) continue;
        const drained = new Promise<"drained">((resolve) => {
          connection.socket.once("drain", () => {
            resolve("drained");
          });
        });
        const waited = new Promise<"waited">((resolve) => setTimeout(resolve, 500, "waited"));
        if ((await Promise.race([drained, waited])) === "waited") {
          isBlocked = true;
          await Promise.race([drained, connection.closed]);
        }
      }
    });
    const client = await RawClient.connect(harness.url);
    client.socket.pause();
    client.send(post(JSON.stringify(ASK)));
    await until("the engine held up", () => isBlocked);
    client.close();
    await until("the engine's connection gone", () => upstream.openConnections === 0);
    expect(await harness.logged({ code: 499 })).toMatchObject({ outcome: "client_gone" });
    expect(await harness.metric('llmgw_router_streams_cut_total{reason="client_gone"}')).toBe(1);
  });
});
