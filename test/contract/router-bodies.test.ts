import { createHash } from "node:crypto";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { bytes, millis } from "../../src/core/ids.ts";
import type { RouterOptions } from "../../src/run/router.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { type RawUpstream, chunk, LAST_CHUNK } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

async function start(options: Partial<RouterOptions> = {}): Promise<RawUpstream> {
  const started = await RouterHarness.answering(options);
  ({ harness } = started);
  return started.upstream;
}

describe("bodies", () => {
  test("B91 Expect: 100-continue is answered, and not passed on", async () => {
    const upstream = await start();
    const client = await RawClient.connect(harness.url);
    const body = `{"model":"m","x":"${"a".repeat(200_000)}"}`;
    client.send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(body.length)}\r\nExpect: 100-continue\r\n\r\n`,
    );
    await client.waitFor("HTTP/1.1 100 Continue\r\n\r\n");
    client.send(body);
    await client.waitFor('{"ok":true}');
    expect(upstream.requests[0]?.head.toLowerCase()).not.toContain("expect");
    client.close();
  });

  test("B91 a refusal comes instead of 100, and the body is not waited for", async () => {
    const upstream = await start({ limits: { bodyBytes: bytes(1000) } });
    const client = await RawClient.connect(harness.url);
    client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\nExpect: 100-continue\r\n\r\n",
    );
    const text = await client.waitForClose();
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).not.toContain("100 Continue");
    expect(upstream.requests).toHaveLength(0);
  });

  test.each(["length", "chunked"])("B92 one byte over the limit is 413, by %s", async (how) => {
    const limit = 1 << 20;
    const upstream = await start({ limits: { bodyBytes: bytes(limit) } });
    const body = (size: number): string => `{"model":"m","x":"${"a".repeat(size - 20)}"}`;
    const client = await RawClient.connect(harness.url);
    const send = (text: string): void => {
      if (how === "length") client.send(post(text));
      else
        client.send(
          Buffer.concat([
            Buffer.from("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"),
            chunk(text),
            Buffer.from(LAST_CHUNK),
          ]),
        );
    };
    send(body(limit));
    await client.waitFor('{"ok":true}');
    expect(upstream.requests[0]?.body).toHaveLength(limit);
    send(body(limit + 1));
    const text = await client.waitForClose();
    expect(text).toMatch(/HTTP\/1\.1 413 [\s\S]*"code":"request_too_large"/);
    expect(text).toContain("1.0 MiB");
    expect(upstream.requests).toHaveLength(1);
    expect(await harness.logged({ code: 413 })).toMatchObject({ outcome: "refused" });
  });

  test("B92 24 MiB pass unchanged and do not hold up others", async () => {
    const upstream = await start();
    const body = `{"messages":"${"iVBORw0KGgo".repeat(2_200_000)}","model":"m"}`;
    const big = harness.post(body);
    expect((await harness.post({ model: "m" })).status).toBe(200);
    expect((await big).status).toBe(200);
    const digest = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex");
    const received = upstream.requests.find((request) => request.body.length > 1000);
    expect(digest(received?.body ?? "")).toBe(digest(body));
  });

  test.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
  ])("B110 a body in %s is decoded before it goes on", async (coding, compress) => {
    const upstream = await start();
    const body = `{"model":"m","x":"${"abc".repeat(1000)}"}`;
    const response = await harness.post("", { body: compress(body), headers: { "content-encoding": coding } });
    expect(response.status).toBe(200);
    expect(upstream.requests[0]?.body.toString()).toBe(body);
    expect(upstream.requests[0]?.head.toLowerCase()).not.toContain("content-encoding");
  });

  test.each(["snappy", "gzip, gzip", "toString"])("B110 a body in %s is 415", async (coding) => {
    await start();
    const response = await harness.post("x", { headers: { "content-encoding": coding } });
    expect([response.status, (await errorOf(response)).code]).toEqual([415, "unsupported_content_encoding"]);
  });

  test("B110 a bomb is 413 with bounded memory, a broken gzip is 400", async () => {
    const upstream = await start({ limits: { bodyBytes: bytes(1 << 20) } });
    const bomb = gzipSync(Buffer.alloc(256 << 20, "a"));
    expect(bomb.length).toBeLessThan(1 << 20);
    expect((await harness.post("", { body: bomb, headers: { "content-encoding": "gzip" } })).status).toBe(413);
    const broken = await harness.post("no gzip", { headers: { "content-encoding": "gzip" } });
    expect([broken.status, (await errorOf(broken)).message]).toEqual([
      400,
      expect.stringContaining("Content-Encoding gzip"),
    ]);
    expect(upstream.requests).toHaveLength(0);
  });

  test.each([
    ["", "the body is empty"],
    ["[]", "not an object"],
    ['{"model":"m"', "ends too early"],
    ['{"model":"m"}{}', "more after"],
    ["{}", "names no model"],
    ['{"model":null}', "not a name"],
    ['{"model":7}', "not a name"],
    ['{"model":["m"]}', "not a name"],
    ['{"x":{"model":"m"}}', "names no model"],
    ['{"model":"m\u0000"}', "control character"],
    ['{"a":'.repeat(5000), "nested deeper"],
  ])("a body of %j is 400 in OpenAI's shape, and nothing is forwarded", async (body, want) => {
    const upstream = await start();
    const response = await harness.post(body);
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(Object.keys(error)).toEqual(["message", "type", "param", "code"]);
    expect(error).toMatchObject({ type: "invalid_request_error", message: expect.stringContaining(want) as string });
    expect(upstream.requests).toHaveLength(0);
    expect(await harness.metric('llmgw_router_requests_total{model="unknown",code="400"}')).toBe(1);
  });

  test("B94 the last of two models is routed by; a padded name is another name", async () => {
    const upstream = await start();
    expect((await harness.post('{"model":"cheap","messages":[],"model":"m"}')).status).toBe(200);
    expect(upstream.requests[0]?.body.toString()).toBe('{"model":"cheap","messages":[],"model":"m"}');
    expect((await harness.post('{"model":"m","model":"cheap"}')).status).toBe(404);
    expect((await harness.post('{"model":" m "}')).status).toBe(404);
  });

  test("an upload that stops is 400, one that goes on slowly is not", async () => {
    await start({ limits: { uploadIdle: millis(1_000) } });
    const body = '{"model":"m"}';
    const client = await RawClient.connect(harness.url);
    client.send(post(body).subarray(0, -body.length));
    for (const byte of body) {
      client.send(byte);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await client.waitFor('{"ok":true}');
    client.send(post(body).subarray(0, -3));
    await client.waitFor("HTTP/1.1 400");
    client.close();
  });
});
