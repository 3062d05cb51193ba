import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import { parseRouterConfig } from "../../src/config/router.ts";
import { type RunningRouterAlone, startRouterAlone } from "../../src/run/router-alone.ts";
import { freePort } from "../e2e/cluster.ts";
import { until } from "../e2e/wait.ts";
import { json, RawUpstream } from "../fakes/raw-upstream.ts";
import { served } from "../fakes/served-site.ts";
import { ownFolder, soon, states, stops } from "./callers.ts";

const ANSWER = json('{"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3}}');

let folder = "";
beforeEach(async () => {
  folder = await ownFolder("alone");
});

interface Alone {
  readonly running: RunningRouterAlone;
  readonly log: () => string;
  readonly ask: (key?: string, body?: string) => Promise<Response>;
  readonly ready: () => Promise<{ readonly status: number; readonly body: unknown }>;
  readonly stop: () => Promise<void>;
}

interface Told {
  readonly servers: readonly string[];
  readonly token: string;
  readonly stateDir?: string;
}

/** A router that is told of these control planes and keeps what it knows in the folder. */
async function alone({ servers, token, stateDir = "state" }: Told): Promise<Alone> {
  const text = JSON.stringify({ servers, token, listen: "127.0.0.1:0", auth: "keys", metrics_listen: "" });
  const parsed = parseRouterConfig({ text, file: "r.yaml", env: {}, readSecret: () => ({ ok: false, error: "" }) });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  let log = "";
  const logger = pino({ base: null }, { write: (line: string) => (log += line) });
  const running = await startRouterAlone({ config: parsed.value, stateDir: join(folder, stateDir), logger, env: {} });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (!isStopped) await running.stop();
    isStopped = true;
  };
  stops.push(stop);
  return {
    running,
    log: () => log,
    ask: (key = "", body = '{"model":"smol","messages":[]}') =>
      fetch(`${running.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(key === "" ? {} : { authorization: `Bearer ${key}` }) },
        body,
      }),
    ready: async () => {
      const response = await fetch(`${running.url}/readyz`);
      return { status: response.status, body: await response.json() };
    },
    stop,
  };
}

const isReady = (router: Alone): Promise<boolean> =>
  until("the router to be ready", async () => (await router.ready()).status === 200, { seen: router.log });

describe("the way to the control planes", () => {
  test("the next one is tried when one does not answer", async () => {
    const { url, key, token } = await served(folder, await RawUpstream.answering(ANSWER));
    const router = await alone({ servers: [`http://127.0.0.1:${String(await freePort())}`, url], token });
    await isReady(router);
    expect((await router.ask(key)).status).toBe(200);
    expect((await router.ask()).status).toBe(401);
    expect(router.log()).toContain(`connected to the control plane ${url}`);
    expect((await router.ready()).body).toEqual({ status: "ready" });
  });

  test.each([
    { token: "llmgw-user-00000000000000000000000", says: /the token is wrong/ },
    { token: "something", says: /the admin token is wrong/ },
  ])("one that refuses is told of once, with its reason: $says", async ({ token, says }) => {
    const { url } = await served(folder, await RawUpstream.answering(ANSWER));
    const router = await alone({ servers: [url], token });
    await until("a second try", () => /no session with/.test(router.log()));
    expect(router.log()).toMatch(says);
    expect(await router.ready()).toMatchObject({
      status: 503,
      body: { reason: "no routes from the control plane yet" },
    });
    expect(router.log().match(/no session with/g)).toHaveLength(1);
    expect(router.log()).not.toContain(token);
  });

  test("a key that is revoked opens nothing a second later", async () => {
    const { on, url, key, token } = await served(folder, await RawUpstream.answering(ANSWER));
    const router = await alone({ servers: [url], token });
    await isReady(router);
    expect((await router.ask(key)).status).toBe(200);
    await on.admin.revokeKey({ key: "app" });
    await until("the refusal", async () => (await router.ask(key)).status === 401, { timeoutMs: 1_000 });
  });
});

describe("with every control plane away", () => {
  test("a router goes on, and one that is started then serves from what was known", async () => {
    const { on, url, key, token } = await served(folder, await RawUpstream.answering(ANSWER));
    const first = await alone({ servers: [url], token });
    await isReady(first);
    await on.stop();
    await until("the loss", () => /no session with the control plane/.test(first.log()));
    expect((await first.ask(key)).status).toBe(200);
    expect(await first.ready()).toMatchObject({ status: 200, body: { control_plane: "away" } });
    await first.stop();

    const second = await alone({ servers: [url], token });
    expect(second.log()).toContain("were found on disk");
    expect((await second.ask(key)).status).toBe(200);
    expect((await second.ask(`${key}x`)).status).toBe(401);
    const { status, body } = await second.ready();
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "ready", control_plane: "away", age_seconds: expect.any(Number) as number });
  });

  test("what is on disk is for the owner alone", async () => {
    const { url, token, id } = await served(folder, await RawUpstream.answering(ANSWER));
    const router = await alone({ servers: [url], token });
    await isReady(router);
    const file = join(folder, "state", "last-known.json");
    await until("the file", async () => (await readFile(file, "utf8")).includes(id));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "state"))).mode & 0o077).toBe(0);
  });

  test.each([
    { what: "half of it", text: '{"form":1,"heard_at_ms":17' },
    { what: "nothing", text: "" },
    { what: "another form", text: '{"form":99}' },
    { what: "something else", text: '{"form":1,"heard_at_ms":1,"table":{"models":7}}' },
  ])("a file with $what in it is moved aside, and the router waits", async ({ text }) => {
    const { url, token, key } = await served(folder, await RawUpstream.answering(ANSWER));
    const router = await alone({ servers: [url], token });
    await isReady(router);
    await router.stop();
    const file = join(folder, "state", "last-known.json");
    await writeFile(file, text);
    const again = await alone({ servers: [url], token });
    expect(again.log()).toContain("cannot be read");
    expect(await readFile(`${file}.not-believed`, "utf8")).toBe(text);
    await isReady(again);
    expect((await again.ask(key)).status).toBe(200);
  });
});

describe("two routers over the network", () => {
  test("a replica is stopped only when both say that nothing of it is in flight", async () => {
    const { engine, finish } = await RawUpstream.holding();
    const { on, url, key, token, node, id } = await served(folder, engine);
    const routers = [
      await alone({ servers: [url], token, stateDir: "a" }),
      await alone({ servers: [url], token, stateDir: "b" }),
    ] as const;
    for (const router of routers) await isReady(router);
    const streaming = await routers[1].ask(key, '{"model":"smol","messages":[],"stream":true}');
    expect(streaming.status).toBe(200);
    await expect.poll(async () => (await on.admin.getStatus({})).requestsInFlight, soon).toBe(1);
    await on.admin.delete({ kind: "Profile", name: "smol" });
    await expect.poll(() => states(on), soon).toEqual(["draining"]);
    await until("the new table at both", async () =>
      (await Promise.all(routers.map(async (router) => (await router.ask(key)).status))).every(
        (status) => status === 404,
      ),
    );
    expect(node.wants(id)).toBe(true);
    finish();
    expect(await streaming.text()).toContain("[DONE]");
    await expect.poll(() => node.wants(id), soon).toBe(false);
  });

  test("a router that stops lets its answers end", async () => {
    const { engine, finish } = await RawUpstream.holding();
    const { url, key, token } = await served(folder, engine);
    const router = await alone({ servers: [url], token });
    await isReady(router);
    const streaming = await router.ask(key, '{"model":"smol","messages":[],"stream":true}');
    const stopped = router.stop();
    await until("no more connections", () =>
      fetch(router.running.url).then(
        () => false,
        () => true,
      ),
    );
    finish();
    expect(await streaming.text()).toContain("[DONE]");
    await stopped;
  });
});
