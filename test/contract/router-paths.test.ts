import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import type { RouterOptions } from "../../src/run/router.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { type RawUpstream } from "../fakes/raw-upstream.ts";
import { errorOf, type ErrorBody, RouterHarness } from "../fakes/router-harness.ts";

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

describe("paths", () => {
  test("B106 a model's name holds slashes and colons, escaped or not", async () => {
    harness = await RouterHarness.start();
    await harness.serve({ "org/name:tag": [] });
    for (const path of ["org/name:tag", "org%2Fname:tag", "org%2Fname%3Atag"]) {
      const response = await fetch(`${harness.url}/v1/models/${path}`);
      expect([response.status, ((await response.json()) as { id: string }).id]).toEqual([200, "org/name:tag"]);
    }
    const none = await fetch(`${harness.url}/v1/models/none`);
    expect([none.status, (await errorOf(none)).code]).toEqual([404, "model_not_found"]);
    expect((await fetch(`${harness.url}/v1/models/org%2`)).status).toBe(400);
  });

  test("the list has the fields of both SDKs", async () => {
    await start();
    const list = (await (await fetch(`${harness.url}/v1/models`)).json()) as { data: readonly unknown[] };
    expect(list).toMatchObject({ object: "list", has_more: false, first_id: "m" });
    expect(list.data).toEqual([
      {
        id: "m",
        object: "model",
        created: 1_700_000_000,
        owned_by: "llmgw",
        type: "model",
        display_name: "m",
        created_at: "2023-11-14T22:13:20.000Z",
      },
    ]);
  });

  test.each([
    ["/health", 200],
    ["/healthz", 200],
    ["/readyz", 200],
    ["/metrics", 200],
    ["/v1/models", 200],
    ["/v1/models/m", 200],
    ["/nope", 404],
    ["/v1/chat/completions", 405],
  ])("B107 HEAD %s is %d as GET is, without a body", async (path, status) => {
    await start();
    const [head, get] = await Promise.all([fetch(harness.url + path, { method: "HEAD" }), fetch(harness.url + path)]);
    expect([head.status, await head.text(), get.status]).toEqual([status, "", status]);
    expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
    if (status === 405) expect(head.headers.get("allow")).toBe("POST, OPTIONS");
    await get.text();
  });

  test.each([
    ["GET", "/v1/files", 404, "unknown_url"],
    ["POST", "/v1/threads", 404, "unknown_url"],
    ["POST", "/v1/models", 405, "method_not_allowed"],
    ["DELETE", "/v1/chat/completions", 405, "method_not_allowed"],
    ["GET", "/v1/chat/completions/", 404, "unknown_url"],
  ])("%s %s is %d in OpenAI's shape", async (method, path, status, code) => {
    await start();
    const response = await fetch(harness.url + path, { method });
    expect([response.status, (await errorOf(response)).code]).toEqual([status, code]);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
  });

  test("Anthropic's paths answer in Anthropic's shape", async () => {
    await start();
    const response = await harness.post({ model: "none" }, { path: "/v1/messages" });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { type: "not_found_error" },
      request_id: expect.stringMatching(/^req_/) as string,
    });
  });

  test("a target that is a whole URL is understood", async () => {
    const upstream = await start();
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}', "", "http://router.example/v1/chat/completions?x=1"));
    await client.waitFor('{"ok":true}');
    expect(upstream.requests[0]?.head).toMatch(/^POST \/v1\/chat\/completions\?x=1 /);
    client.close();
  });
});

describe("B119 pages of other origins", () => {
  const preflight = (origin: string): Promise<Response> =>
    fetch(`${harness.url}/v1/chat/completions`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-os",
      },
    });

  test("an allowed one gets what it asks for, on refusals too, and no engine is asked", async () => {
    const upstream = await start({ cors: ["https://app.example"] });
    const response = await preflight("https://app.example");
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(response.headers.get("access-control-allow-methods")).toContain("POST");
    expect(response.headers.get("access-control-allow-headers")).toContain("x-stainless-os");
    const refused = await harness.post({ model: "none" }, { headers: { origin: "https://app.example" } });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([404, "https://app.example"]);
    expect(upstream.requests).toHaveLength(0);
    const served = await harness.post({ model: "m" }, { headers: { origin: "https://app.example" } });
    expect(served.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });

  test.each([
    ["another origin", ["https://app.example"]],
    ["CORS off", []],
  ])("%s gets no allow headers and no error", async (_name, cors) => {
    await start({ cors });
    const response = await preflight("https://evil.example");
    expect(response.status).toBe(204);
    expect([...response.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });
});

describe.each(["own", "node"] as const)("what is no HTTP, read by %s", (http1) => {
  test.each([
    ["garbage", "NOT HTTP\r\n\r\n", 400, null],
    [
      "two lengths",
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
      400,
      null,
    ],
    [
      "a length and chunks",
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
      400,
      null,
    ],
    [
      "broken chunks",
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      400,
      null,
    ],
    ["a line end that is half of one", "GET /v1/models HTTP/1.1\r\nHost: x\nX: y\r\n\r\n", 400, null],
    ["a space before a colon", "GET /v1/models HTTP/1.1\r\nHost: x\r\nX : y\r\n\r\n", 400, null],
    ["a folded line", "GET /v1/models HTTP/1.1\r\nHost: x\r\nX: y\r\n z\r\n\r\n", 400, null],
    ["a NUL in a header", "GET /v1/models HTTP/1.1\r\nHost: x\r\nX: y\0\r\n\r\n", 400, null],
    ["a method that is none", "G3T /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", 400, null],
    ["a version to come", "GET /v1/models HTTP/4.2\r\nHost: x\r\n\r\n", 400, null],
    ["a length that is no number", "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", 400, null],
    ["chunks of another coding", "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n", 400, null],
    ["a handshake of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, null],
    [
      "a flood of headers",
      `GET /v1/models HTTP/1.1\r\nHost: x\r\n${"A:b\r\n".repeat(20_000)}\r\n`,
      431,
      "headers_too_large",
    ],
    [
      "headers of 70 KiB",
      `GET /v1/models HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(70 * 1024)}\r\n\r\n`,
      431,
      "headers_too_large",
    ],
  ])("%s gets an answer in OpenAI's shape and no engine", async (_name, text, status, code) => {
    const upstream = await start({ http1 });
    const client = await RawClient.connect(harness.url);
    client.send(text);
    const answer = await client.waitForClose();
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `));
    const { error } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)) as ErrorBody;
    expect(error).toMatchObject({ type: "invalid_request_error", code });
    expect(answer).not.toMatch(/ek-secret|127\.0\.0\.1|node:/);
    expect(upstream.requests).toHaveLength(0);
    expect(harness.logs.filter((line) => line["code"] === status)).toHaveLength(1);
  });

  test("a path that is longer than all headers may be is 431", async () => {
    await start({ http1 });
    const client = await RawClient.connect(harness.url);
    client.send(`GET /${"a".repeat(70 * 1024)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(await client.waitForClose()).toMatch(/^HTTP\/1\.1 431 /);
  });

  test("of 1,900 headers none is lost, 4,000 are 431", async () => {
    const upstream = await start({ http1 });
    const fields = (count: number): string => Array.from({ length: count }, (_, n) => `X${String(n)}: y\r\n`).join("");
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}', fields(1_900)));
    await client.waitFor('{"ok":true}');
    expect(upstream.requests[0]?.head).toContain("X1899: y");
    client.send(post('{"model":"m"}', fields(4_000)));
    await client.waitFor("HTTP/1.1 431");
    await client.waitForClose();
  });

  test("headers of 60 KiB are taken", async () => {
    await start({ http1 });
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}', `X-Attest: ${"x".repeat(60 * 1024)}\r\n`));
    await client.waitFor('{"ok":true}');
    client.close();
  });

  test("a head that comes byte by byte for ever is ended", async () => {
    await start({ http1, limits: { headTime: millis(500) } });
    const client = await RawClient.connect(harness.url);
    client.send("POST /v1/chat/completions HTTP/1.1\r\n");
    const drip = setInterval(() => {
      client.send("X: y\r\n");
    }, 30);
    const text = await client.waitForClose();
    clearInterval(drip);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("bytes above ASCII in a key do no harm", async () => {
    await start({ http1 });
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}', "Authorization: Bearer sk-test\u00e9\r\nX-Other: \u00e9\r\n"));
    await client.waitFor('{"ok":true}');
    client.close();
  });
});
