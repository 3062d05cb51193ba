import { createHash } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { type KeyGrant, type KeyLimits, NO_LIMITS } from "../../src/core/client-key.ts";
import { millis } from "../../src/core/ids.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { chunk, json, RawUpstream, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";
import { until } from "../e2e/wait.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const SECRET = "sk-llmgw-0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const OTHER = "sk-llmgw-zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
const ANSWER = '{"choices":[],"usage":{"prompt_tokens":200,"completion_tokens":100,"total_tokens":300}}';

const grant = (secret: string, more: Partial<KeyGrant> = {}): KeyGrant => ({
  id: `key-${secret.slice(-4)}`,
  name: `app-${secret.slice(-4)}`,
  sha256: createHash("sha256").update(secret).digest("hex"),
  models: [],
  limits: NO_LIMITS,
  expiresAt: undefined,
  ...more,
});

/** A router that asks for keys, in front of one engine for the models m and n. */
async function start(keys: readonly KeyGrant[], upstream?: RawUpstream): Promise<RawUpstream> {
  harness = await RouterHarness.start({ auth: "keys", cors: ["https://app.example"], limits: { tick: millis(20) } });
  const engine = harness.adopt(upstream ?? (await RawUpstream.answering(json(ANSWER))));
  harness.source.pushKeys(keys);
  await harness.serve({ m: [engine], n: [engine] });
  return engine;
}

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const limited = (limits: Partial<KeyLimits>): KeyGrant => grant(SECRET, { limits: { ...NO_LIMITS, ...limits } });
const ask = (model = "m", key = SECRET): Promise<Response> => harness.post({ model }, bearer(key));

describe("who is let in", () => {
  test.each([
    ["a bearer", { authorization: `Bearer ${SECRET}` }],
    ["a bearer, written otherwise", { authorization: `bearer  ${SECRET} ` }],
    ["x-api-key", { "x-api-key": SECRET }],
    ["a made-up bearer and the key in x-api-key", { authorization: "Bearer none", "x-api-key": SECRET }],
  ])("%s opens, and no engine sees the key", async (_name, headers) => {
    const upstream = await start([grant(SECRET)]);
    const response = await harness.post({ model: "m" }, { headers });
    expect([response.status, await response.text()]).toEqual([200, ANSWER]);
    expect(upstream.requests[0]?.head).not.toContain(SECRET);
    expect(upstream.requests[0]?.head).toContain("Bearer ek-secret");
    expect(JSON.stringify(harness.logs)).not.toContain(SECRET);
    expect(await harness.logged({ code: 200 })).toMatchObject({ key: "app-DEFG", model: "m" });
  });

  test.each([
    { name: "no key", headers: "", says: "No API key was given" },
    { name: "an empty bearer", headers: "Authorization: Bearer \r\n", says: "No API key was given" },
    { name: "another scheme", headers: `Authorization: Basic ${SECRET}\r\n`, says: "No API key was given" },
    { name: "a wrong key", headers: `Authorization: Bearer ${OTHER}\r\n`, says: "provided: sk-***zzzz." },
    {
      name: "a key with a byte above ASCII",
      headers: "Authorization: Bearer sk-test\u00e9\r\n",
      says: "provided: ***.",
    },
    { name: "a key of 10 kB", headers: `X-Api-Key: ${"k".repeat(10_000)}\r\n`, says: "provided: ***kkkk." },
    { name: "a part of the key", headers: `X-Api-Key: ${SECRET.slice(0, -1)}\r\n`, says: "provided: sk-***CDEF." },
    { name: "the key and more", headers: `X-Api-Key: ${SECRET}G\r\n`, says: "provided: sk-***EFGG." },
  ])("B118 $name is 401", async ({ headers, says }) => {
    const upstream = await start([grant(SECRET)]);
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}', headers));
    const answer = await client.waitFor("invalid_api_key");
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer.toLowerCase()).toContain("www-authenticate: bearer\r\n");
    expect(answer).toContain(says);
    client.close();
    expect(upstream.requests).toHaveLength(0);
    expect(await harness.metric('llmgw_router_requests_total{model="unknown",code="401"}')).toBe(1);
  });

  test("Messages are refused in their own shape", async () => {
    await start([grant(SECRET)]);
    const response = await harness.post({ model: "m" }, { path: "/v1/messages", headers: { "x-api-key": "none" } });
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { type: "error", error: { type: "authentication_error" } },
    ]);
  });

  test("B119 a page's question needs no key, and its 401 can be read", async () => {
    await start([grant(SECRET)]);
    const origin = "https://app.example";
    const preflight = await fetch(`${harness.url}/v1/chat/completions`, {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, origin]);
    const refused = await harness.post({ model: "m" }, { headers: { origin, authorization: "Bearer wrong" } });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, origin]);
  });

  test("a body that waits for 100 Continue is not asked for", async () => {
    await start([grant(SECRET)]);
    const client = await RawClient.connect(harness.url);
    client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: 200000\r\nExpect: 100-continue\r\n\r\n",
    );
    const answer = await client.waitFor("invalid_api_key");
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    client.close();
  });

  test("an expired key is told so; a revoked one is a wrong one at once", async () => {
    await start([grant(SECRET), grant(OTHER, { expiresAt: millis(Date.now() - 1) })]);
    const expired = await ask("m", OTHER);
    expect([expired.status, (await errorOf(expired)).message]).toEqual([
      401,
      expect.stringContaining('"app-zzzz" has expired'),
    ]);
    expect((await ask()).status).toBe(200);
    harness.source.pushKeys([]);
    await until("the end of the key", async () => (await ask()).status === 401);
  });

  test("the keys known last stay in force while the control plane is away", async () => {
    await start([grant(SECRET)]);
    harness.source.cut();
    expect((await ask()).status).toBe(200);
    expect((await ask("m", OTHER)).status).toBe(401);
  });

  test("before the first word of the control plane nobody is called a stranger", async () => {
    harness = await RouterHarness.start({ auth: "keys" });
    const upstream = harness.adopt(await RawUpstream.answering(json(ANSWER)));
    await harness.serve({ m: [upstream] });
    const response = await ask();
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await fetch(`${harness.url}/readyz`)).status).toBe(503);
    harness.source.pushKeys([grant(SECRET)]);
    await until("the keys", async () => (await fetch(`${harness.url}/readyz`)).ok);
    expect((await ask()).status).toBe(200);
  });

  test("health needs no key and says no names; numbers are not shown here", async () => {
    await start([grant(SECRET)]);
    await harness.serve({ m: [] });
    expect((await fetch(`${harness.url}/healthz`)).status).toBe(200);
    const ready = await fetch(`${harness.url}/readyz`);
    expect(await ready.json()).toMatchObject({ waiting: [] });
    expect((await fetch(`${harness.url}/metrics`)).status).toBe(404);
    expect((await fetch(`${harness.url}/v1/models`)).status).toBe(401);
  });

  test("where no keys are asked for, anything goes", async () => {
    const { harness: open } = await RouterHarness.answering();
    harness = open;
    expect((await harness.post({ model: "m" }, bearer("whatever"))).status).toBe(200);
    expect((await fetch(`${harness.url}/metrics`)).status).toBe(200);
  });
});

describe("which models", () => {
  test("a key sees and uses only its own; of the others it does not learn whether they are there", async () => {
    const upstream = await start([grant(SECRET, { models: ["m", "later"] })]);
    const list = (await (await fetch(`${harness.url}/v1/models`, bearer(SECRET))).json()) as { data: { id: string }[] };
    expect(list.data.map(({ id }) => id)).toEqual(["m"]);
    for (const model of ["n", "no-such-model"]) {
      const [asked, shown] = await Promise.all([
        ask(model),
        fetch(`${harness.url}/v1/models/${model}`, bearer(SECRET)),
      ]);
      for (const response of [asked, shown]) {
        expect(response.status).toBe(403);
        expect(await errorOf(response)).toEqual({
          message: expect.stringContaining(`may not use the model \`${model}\``) as string,
          type: "permission_error",
          code: "insufficient_permissions",
          param: "model",
        });
      }
    }
    expect((await ask("later")).status).toBe(404);
    expect(upstream.requests).toHaveLength(0);
    expect((await fetch(`${harness.url}/v1/models/m`, bearer(SECRET))).status).toBe(200);
  });

  test.each([
    ["the last of two names", '{"model":"m","messages":[],"model":"n"}'],
    ["an escaped name", '{"model":"\\u006e"}'],
    ["a padded name", '{"model":" n "}'],
    ["a padded name of its own", '{"model":" m "}'],
  ])("B94 %s is the one that is authorised", async (_name, body) => {
    const upstream = await start([grant(SECRET, { models: ["m"] })]);
    expect((await harness.post(body, bearer(SECRET))).status).toBe(403);
    expect(upstream.requests).toHaveLength(0);
  });
});

describe("limits", () => {
  test("B123 requests per minute: what is left, and when to come again", async () => {
    await start([limited({ requestsPerMinute: 2, tokensPerMinute: 100_000 })]);
    const first = await ask();
    expect(first.headers.get("x-ratelimit-limit-requests")).toBe("2");
    expect(first.headers.get("x-ratelimit-remaining-requests")).toBe("1");
    expect(first.headers.get("x-ratelimit-reset-requests")).toMatch(/^(59(\.\d+)?s|1m0s)$/);
    expect(first.headers.get("x-ratelimit-remaining-tokens")).toBe("100000");
    await first.text();
    const second = await ask();
    expect(second.headers.get("x-ratelimit-remaining-tokens")).toBe("99700");
    await second.text();
    const third = await ask();
    expect(third.status).toBe(429);
    expect(await errorOf(third)).toMatchObject({ type: "rate_limit_error", code: "rate_limit_exceeded" });
    expect(Number(third.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(third.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect(third.headers.get("x-should-retry")).toBe("true");
    expect(third.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    expect(await harness.logged({ code: 429 })).toMatchObject({ key: "app-DEFG", outcome: "refused" });
  });

  test.each([
    { limits: { tokensPerMinute: 300 }, code: "rate_limit_exceeded", retry: "true" },
    { limits: { tokensPerDay: 300 }, code: "insufficient_quota", retry: undefined },
    { limits: { tokensPerMonth: 300 }, code: "insufficient_quota", retry: undefined },
  ])("tokens are charged as the engine counted them: $limits", async ({ limits, code, retry }) => {
    await start([limited(limits)]);
    await (await ask()).text();
    const refused = await ask();
    expect([refused.status, (await errorOf(refused)).code]).toEqual([429, code]);
    // Within the last minute of a day a budget is a matter of seconds, too.
    if (retry !== undefined) expect(refused.headers.get("x-should-retry")).toBe(retry);
    else expect(["true", "false"]).toContain(refused.headers.get("x-should-retry"));
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(60);
  });

  test("a stream holds its slot to its last byte, and a refused request takes none", async () => {
    const { engine, finish } = await RawUpstream.holding();
    await start([limited({ concurrency: 1 })], engine);
    const stream = await ask();
    await until("the engine at work", () => engine.requests.length === 1);
    for (let n = 0; n < 5; n++) {
      const refused = await ask();
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
      await refused.text();
    }
    finish();
    await stream.text();
    const next = await until("a free slot", async () => {
      const response = await ask();
      return response.status === 200 ? response : undefined;
    });
    await next.text();
  });

  test("B125 failures of every kind give their slots back", async () => {
    let answers = false;
    const engine = await RawUpstream.start(async (connection) => {
      while ((await connection.request()) !== undefined) {
        if (answers) await connection.write(json(ANSWER));
        else connection.reset();
      }
    });
    harness = await RouterHarness.start({ auth: "keys", limits: { tick: millis(20) } });
    harness.adopt(engine);
    harness.source.pushKeys([limited({ concurrency: 2 })]);
    await harness.serve({ m: [engine] });
    const statuses: number[] = [];
    const count = async (response: Promise<Response>): Promise<void> => {
      statuses.push((await response).status);
      await (await response).text();
    };
    for (let n = 0; n < 3; n++) await count(ask());
    for (let n = 0; n < 5; n++) await count(ask("none"));
    for (let n = 0; n < 5; n++) await count(harness.post("{", bearer(SECRET)));
    for (let n = 0; n < 5; n++) await count(harness.post({}, bearer(SECRET)));
    expect(statuses.slice(3)).toEqual([...Array<number>(5).fill(404), ...Array<number>(10).fill(400)]);
    for (const status of statuses.slice(0, 3)) expect([502, 503]).toContain(status);
    const leaver = await RawClient.connect(harness.url);
    leaver.send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${SECRET}\r\nContent-Length: 500\r\n\r\n{`,
    );
    leaver.close();
    answers = true;
    await until("the engine's return", async () => {
      const response = await ask();
      await response.text();
      return response.status === 200;
    });
    const both = await Promise.all([ask(), ask()]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    await Promise.all(both.map((response) => response.text()));
  });

  test("an answer that the client leaves is not free", async () => {
    const engine = await RawUpstream.onRequest(async (connection) => {
      await connection.write(STREAM_HEAD);
      await connection.write(chunk(`data: {"x":"${"a".repeat(4_000)}"}\n\n`));
      await connection.closed;
    });
    await start([limited({ tokensPerMinute: 10 })], engine);
    const leaving = new AbortController();
    const response = await harness.post({ model: "m" }, { ...bearer(SECRET), signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    await harness.logged({ code: 499 });
    expect((await ask()).status).toBe(429);
  });

  test("a key keeps its counts when it gets other limits", async () => {
    await start([limited({ requestsPerMinute: 2 })]);
    await (await ask()).text();
    harness.source.pushKeys([limited({ requestsPerMinute: 1 })]);
    await until("the new limit", async () => (await ask()).status === 429);
  });
});
