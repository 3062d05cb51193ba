import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { KeyLimits } from "../../src/core/client-key.ts";
import { until } from "../e2e/wait.ts";
import { chunk, json, RawUpstream, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import { SharedSite, type SiteRouter } from "../fakes/shared-site.ts";

const ANSWER = '{"choices":[],"usage":{"prompt_tokens":200,"completion_tokens":100,"total_tokens":300}}';
const ALL = { by: [], since: undefined, until: undefined, keyIds: undefined, model: undefined } as const;

let engine: RawUpstream;
let site: SharedSite;
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-shared-"));
});
afterEach(async () => {
  await site.stop();
  await engine.stop();
  await rm(folder, { recursive: true });
});

async function start(limits: Partial<KeyLimits>, upstream?: RawUpstream): Promise<readonly [SiteRouter, SiteRouter]> {
  engine = upstream ?? (await RawUpstream.answering(json(ANSWER)));
  site = await SharedSite.start(engine.port, limits);
  return [await site.router(join(folder, "a")), await site.router(join(folder, "b"))];
}

const counted = async (): Promise<number> => (await site.store.usage.sums(ALL))[0]?.requests ?? 0;

describe("one key at two routers", () => {
  test("B128 requests at the same time: never more than the limit, wherever they come", async () => {
    const waiting: (() => void)[] = [];
    let most = 0;
    const slow = await RawUpstream.onRequest(async (connection) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        most = Math.max(most, waiting.length);
      });
      await connection.write(json(ANSWER));
    });
    const [a, b] = await start({ concurrency: 5 }, slow);
    const all = Array.from({ length: 20 }, (_, n) => site.ask(n % 4 === 0 ? a : b));
    const statuses = Promise.all(all.map(async (response) => (await response).status));
    await until("as many as are allowed", () => waiting.length === 5);
    const refused = await Promise.race(all.map((response) => response));
    expect(refused.status).toBe(429);
    while (waiting.length > 0) waiting.shift()?.();
    await until("the end of all", async () => {
      waiting.shift()?.();
      return (await Promise.race([statuses, Promise.resolve(undefined)])) !== undefined;
    });
    const ok = (await statuses).filter((status) => status === 200).length;
    expect(ok).toBeGreaterThanOrEqual(5);
    expect(most).toBe(5);
  });

  test("requests per minute: all of the limit is used, and nothing beyond it", async () => {
    const [a, b] = await start({ requestsPerMinute: 40 });
    expect(await site.admitted(90, a, b)).toBe(40);
  });

  test("all requests at one router get all of the limit", async () => {
    const [a] = await start({ requestsPerMinute: 40 });
    expect(await site.admitted(60, a)).toBe(40);
  });

  test("a single slot goes to where the request is", async () => {
    const [a, b] = await start({ concurrency: 1 });
    for (const router of [a, b, a, a, b]) expect(await site.admitted(1, router)).toBe(1);
  });

  test("tokens per minute", async () => {
    const [a, b] = await start({ tokensPerMinute: 3_000 });
    const admitted = await site.admitted(40, a, b);
    // The request that crosses a router's share is answered whole: at most one more for each router.
    expect(admitted).toBeGreaterThanOrEqual(10);
    expect(admitted).toBeLessThanOrEqual(12);
  });

  test("a limit that is lowered holds at once, and one that is raised is there to be used", async () => {
    const [a, b] = await start({ requestsPerMinute: 10 });
    expect(await site.admitted(20, a, b)).toBe(10);
    site.setLimits({ requestsPerMinute: 25 });
    await until("more", async () => (await site.admitted(1, a)) === 1);
    expect(await site.admitted(30, a, b)).toBe(14);
    site.setLimits({ requestsPerMinute: 5 });
    expect(await site.admitted(10, a, b)).toBe(0);
  });
});

describe("while the control plane is away", () => {
  test("each router goes on with its share, and all together stay below the limit", async () => {
    const [a, b] = await start({ requestsPerMinute: 40 });
    expect(await site.admitted(2, a, b)).toBe(2);
    a.cut();
    b.cut();
    const admitted = 2 + (await site.admitted(100, a, b));
    expect(admitted).toBeGreaterThanOrEqual(30);
    expect(admitted).toBeLessThanOrEqual(40);
  });

  test("a router that is cut off keeps its share from the others, and comes back with what it has used", async () => {
    const [a, b] = await start({ requestsPerMinute: 40 });
    await site.admitted(2, a, b);
    a.cut();
    const ofB = 1 + (await site.admitted(60, b));
    const ofA = 1 + (await site.admitted(60, a));
    expect(ofA + ofB).toBeLessThanOrEqual(40);
    expect(ofA).toBeGreaterThan(10);
    a.mend();
    await until("its usage", async () => (await counted()) === ofA + ofB);
    expect(ofA + ofB + (await site.admitted(60, a, b))).toBe(40);
  });

  test("a control plane that has forgotten everything gives nothing away twice", async () => {
    const [a, b] = await start({ requestsPerMinute: 40 });
    const before = await site.admitted(20, a, b);
    a.cut();
    b.cut();
    await site.restartControl({ requestsPerMinute: 40 });
    b.mend();
    const more = await site.admitted(40, b);
    a.mend();
    const rest = await site.admitted(60, a, b);
    expect(before + more + rest).toBeLessThanOrEqual(40);
    await until("all of it", async () => before + more + rest + (await site.admitted(2, a, b)) <= 40);
  });

  test("a router that leaves in order leaves its share to the others", async () => {
    const [a, b] = await start({ concurrency: 8 });
    await a.running.stop();
    const waiting: (() => void)[] = [];
    engine.script = async (connection) => {
      while ((await connection.request()) !== undefined) {
        await new Promise<void>((resolve) => waiting.push(resolve));
        await connection.write(json(ANSWER));
      }
    };
    const all = Array.from({ length: 8 }, () => site.ask(b));
    await until("all eight", () => waiting.length === 8);
    for (const finish of waiting) finish();
    for (const response of all) expect((await response).status).toBe(200);
  });
});

describe("usage", () => {
  test("reaches the store once, however often the line breaks", async () => {
    const [a, b] = await start({});
    for (let round = 0; round < 4; round++) {
      await site.admitted(10, a, b);
      a.cut();
      await site.admitted(10, a, b);
      a.mend();
      b.cut();
      b.mend();
    }
    await until("all requests", async () => (await counted()) === 80);
    expect(await site.store.usage.sums({ ...ALL, by: ["key", "model"] })).toMatchObject([
      { keyName: "app", model: "m", requests: 80, prompt: 16_000, completion: 8_000, estimated: 0 },
    ]);
    const metrics = `${await a.running.metrics()}\n${await b.running.metrics()}`;
    const total = [...metrics.matchAll(/llmgw_router_tokens_total\{model="m",kind="prompt"\} (\d+)/g)];
    expect(total.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(16_000);
  });

  test("of a stream that the client leaves is estimated from its events, and marked", async () => {
    const stream = await RawUpstream.onRequest(async (connection) => {
      await connection.write(STREAM_HEAD);
      for (let n = 0; n < 7; n++) await connection.write(chunk('data: {"choices":[{"delta":{"content":"a"}}]}\n\n'));
      await connection.closed;
    });
    const [a] = await start({}, stream);
    const leaving = new AbortController();
    const response = await site.ask(a, { body: '{"model":"m","stream":true}', signal: leaving.signal });
    let seen = "";
    for await (const piece of response.body ?? []) {
      seen += Buffer.from(piece as Uint8Array).toString();
      if (seen.split("data:").length > 7) break;
    }
    leaving.abort();
    await until("its record", async () => (await counted()) === 1);
    expect(await site.store.usage.sums(ALL)).toMatchObject([{ completion: 7, prompt: 7, estimated: 1 }]);
  });

  test("a request can be asked about, with each of its tries", async () => {
    const [a] = await start({});
    const response = await site.ask(a);
    await response.text();
    const id = response.headers.get("x-request-id") ?? "";
    const [kept] = await until("the record", async () => {
      const found = await site.store.usage.requests(id);
      return found.length > 0 ? found : undefined;
    });
    expect(kept?.record).toMatchObject({
      keyId: "key-1",
      model: "m",
      profile: "m",
      replica: "m-1",
      outcome: "complete",
      attempts: 1,
      tries: [{ replica: "m-1", replicas: 1, candidates: 1, inFlight: 0, failure: "" }],
    });
  });

  test("what a router could not send before it ended is sent by the next one in its folder", async () => {
    const [a] = await start({});
    a.cut();
    await site.admitted(5, a);
    await a.running.stop();
    expect(await counted()).toBe(0);
    expect((await readdir(join(folder, "a", "usage"))).join()).toMatch(/\.jsonl$/);
    await site.router(join(folder, "a"));
    await until("the five", async () => (await counted()) === 5);
  });
});

describe("budgets", () => {
  test("hold over two routers", async () => {
    const [a, b] = await start({ tokensPerDay: 6_000 });
    let admitted = 0;
    await until("the end of the budget", async () => {
      const more = await site.admitted(4, a, b);
      admitted += more;
      return more === 0;
    });
    // Twenty requests of 300 tokens; what has been used elsewhere in the last second is not known yet.
    expect(admitted).toBeGreaterThanOrEqual(20);
    await until("all counted", async () => (await counted()) === admitted);
    for (const router of [a, b]) {
      const response = await site.ask(router);
      expect([response.status, await response.json()]).toMatchObject([429, { error: { code: "insufficient_quota" } }]);
    }
  });

  test("survive a restart of the routers and of the control plane", async () => {
    const [a, b] = await start({ tokensPerMonth: 1_500 });
    await site.admitted(8, a);
    await until("the end of the budget at both", async () => (await site.admitted(2, a, b)) === 0);
    await a.running.stop();
    await b.running.stop();
    await site.restartControl({ tokensPerMonth: 1_500 });
    const again = await site.router(join(folder, "a"));
    await until("what was used", async () => (await site.admitted(1, again)) === 0);
    expect(await site.admitted(3, again)).toBe(0);
  });
});
