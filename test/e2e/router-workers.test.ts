import { readdir, readFile, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { join } from "node:path";
import { connect } from "node:tls";
import { beforeEach, describe, expect, test } from "vitest";
import { ownFolder, soon, stops } from "../contract/callers.ts";
import { Authority } from "../fakes/certificates.ts";
import { json, RawUpstream } from "../fakes/raw-upstream.ts";
import { served } from "../fakes/served-site.ts";
import { VersionClient } from "../fakes/versions-client.ts";
import { freePort } from "./cluster.ts";
import { llmgw, type Running } from "./process.ts";
import { until } from "./wait.ts";

const ANSWER = json('{"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3}}');

let folder = "";
beforeEach(async () => {
  folder = await ownFolder("workers");
});

interface Several {
  readonly port: string;
  readonly running: Running;
  readonly ask: (body?: string) => Promise<Response>;
  readonly metric: (sample: string) => Promise<number>;
  readonly isClosed: () => Promise<boolean>;
  readonly workers: () => Promise<readonly number[]>;
}

/** `llmgw router` with so many workers. */
async function several(
  workers: number,
  told: { readonly url: string; readonly token: string; readonly key: string },
  tls?: { readonly cert: string; readonly key: string },
): Promise<Several> {
  const [port, metricsPort] = [String(await freePort()), String(await freePort())];
  const config = {
    servers: [told.url],
    token: told.token,
    listen: `127.0.0.1:${port}`,
    auth: "keys",
    workers,
    ...(tls && { tls }),
  };
  const file = join(folder, "router.yaml");
  await writeFile(file, JSON.stringify({ ...config, metrics_listen: `127.0.0.1:${metricsPort}`, drain: "10s" }));
  const running = llmgw(["router", "-c", file, "--data-dir", folder]);
  stops.push(() => running.end());
  const pages = `http://127.0.0.1:${metricsPort}`;
  await until(
    "every worker to be connected",
    () => running.output().match(/connected to the control plane/g)?.length === workers,
    {
      seen: () => running.output(),
    },
  );
  expect((await fetch(`${pages}/readyz`)).status).toBe(200);
  return {
    port,
    running,
    ask: (body = '{"model":"smol","messages":[]}') =>
      fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: "POST",
        // A connection of its own, so that requests go to all workers.
        headers: { "content-type": "application/json", authorization: `Bearer ${told.key}`, connection: "close" },
        body,
      }),
    isClosed: () =>
      fetch(`http://127.0.0.1:${port}/healthz`, { headers: { connection: "close" } }).then(
        () => false,
        () => true,
      ),
    metric: async (sample) => {
      const text = await (await fetch(`${pages}/metrics`)).text();
      const line = text.split("\n").find((candidate) => candidate.startsWith(`${sample} `));
      return Number(line?.slice(sample.length) ?? 0);
    },
    workers: () => childrenOf(running.pid),
  };
}

/** Whom the port's certificate names. */
async function shownAt(port: string, ca: string): Promise<unknown> {
  const socket = connect({ port: Number(port), host: "127.0.0.1", ca, ALPNProtocols: ["h2"] });
  await once(socket, "secureConnect");
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return CN;
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).map(Number).filter((one) => one > 0);
  const stats = await Promise.all(pids.map((one) => readFile(`/proc/${String(one)}/stat`, "utf8").catch(() => "")));
  return pids.filter((_, at) => Number(stats[at]?.slice(stats[at].lastIndexOf(")")).split(" ")[2]) === pid);
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a router with workers", () => {
  test("B128 a limit holds over all of them, and all of it is used", async () => {
    let waiting: (() => void)[] = [];
    let most = 0;
    const engine = await RawUpstream.onRequest(async (connection) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        most = Math.max(most, waiting.length);
      });
      await connection.write(ANSWER);
    });
    const router = await several(4, await served(folder, engine, { concurrency: 5 }));
    const all = Promise.all(Array.from({ length: 20 }, async () => (await router.ask()).status));
    await until("as many as are allowed", () => waiting.length === 5);
    const statuses = await until("the end of all", async () => {
      for (const finish of waiting) finish();
      waiting = [];
      return Promise.race([all, Promise.resolve(undefined)]);
    });
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
    expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
    expect(most).toBe(5);
  });

  test("numbers are those of all, and a worker that dies is replaced without losing what was counted", async () => {
    const { on, ...told } = await served(folder, await RawUpstream.answering(ANSWER));
    const router = await several(2, told);
    const counted = 'llmgw_router_requests_total{model="smol",code="200"}';
    for (let n = 0; n < 8; n++) expect((await router.ask()).status).toBe(200);
    await until("the count", async () => (await router.metric(counted)) === 8);
    await until("the usage", async () => (await on.admin.getUsage({})).rows[0]?.requests === 8);

    const [victim = 0] = await router.workers();
    process.kill(victim, "SIGKILL");
    await until("another in its place", async () => {
      const now = await router.workers();
      return now.length === 2 && !now.includes(victim);
    });
    await until("its connection", () => router.running.output().match(/connected to the control plane/g)?.length === 3);
    for (let n = 0; n < 4; n++) expect((await router.ask()).status).toBe(200);
    await until("the whole count", async () => (await router.metric(counted)) === 12);
    expect(await router.metric('llmgw_router_in_flight{model="smol"}')).toBe(0);
    await until("the usage of all", async () => (await on.admin.getUsage({})).rows[0]?.requests === 12);
  });

  test("SIGTERM ends streams first, and then every process with 0", async () => {
    const { engine, finish } = await RawUpstream.holding();
    const { on, ...told } = await served(folder, engine);
    const router = await several(2, told);
    const streaming = await router.ask('{"model":"smol","messages":[],"stream":true}');
    await expect.poll(async () => (await on.admin.getStatus({})).requestsInFlight, soon).toBe(1);
    const workers = await router.workers();
    const ended = router.running.end();
    await until("no more connections", () => router.isClosed());
    finish();
    expect(await streaming.text()).toContain("[DONE]");
    expect(await ended).toBe(0);
    expect(workers.filter(isThere)).toEqual([]);
  });

  test("HTTP/2 with TLS: another certificate needs no restart, and SIGTERM lets streams end", async () => {
    const { engine, finish } = await RawUpstream.holding();
    const { on, ...told } = await served(folder, engine);
    const authority = new Authority();
    const tls = { cert: join(folder, "router.pem"), key: join(folder, "router-key.pem") };
    const show = async (commonName: string): Promise<void> => {
      const shown = authority.issue({ commonName, dns: ["localhost"], ips: ["127.0.0.1"] });
      await writeFile(tls.key, shown.key, { mode: 0o600 });
      await writeFile(tls.cert, shown.cert);
    };
    await show("first");
    const router = await several(2, told, tls);
    const url = `https://127.0.0.1:${router.port}`;
    const clients = Array.from({ length: 6 }, () => new VersionClient("HTTP/2 with TLS", url, authority.ca));
    const headers = { authorization: `Bearer ${told.key}` };
    const calls = clients.map((client) =>
      client.ask({ headers, body: '{"model":"smol","messages":[],"stream":true}' }),
    );
    for (const call of calls) await call.waitFor("data: ");
    await expect.poll(async () => (await on.admin.getStatus({})).requestsInFlight, soon).toBe(6);

    await show("second");
    router.running.child.kill("SIGHUP");
    await until("the other certificate, everywhere", async () => {
      const names = await Promise.all(Array.from({ length: 6 }, () => shownAt(router.port, authority.ca)));
      return names.every((name) => name === "second");
    });
    const ended = router.running.end();
    await until("GOAWAY to all", () => clients.every(({ session }) => session?.closed === true));
    finish();
    for (const call of calls) expect((await call.ended()).text).toContain("[DONE]");
    expect(await ended).toBe(0);
    for (const client of clients) client.close();
  });

  test("kill -9 of the first process leaves nobody behind on the port", async () => {
    const router = await several(2, await served(folder, await RawUpstream.answering(ANSWER)));
    const workers = await router.workers();
    await router.running.end("SIGKILL");
    await until("the end of the workers", () => workers.every((pid) => !isThere(pid)));
    expect(await router.isClosed()).toBe(true);
  });

  test("a port that is taken is told in words, with exit code 1", async () => {
    const taken = await RawUpstream.answering(ANSWER);
    stops.push(() => taken.stop());
    const file = join(folder, "router.yaml");
    const listen = `127.0.0.1:${String(taken.port)}`;
    await writeFile(file, JSON.stringify({ servers: ["http://127.0.0.1:1"], listen, workers: 2, metrics_listen: "" }));
    const running = llmgw(["router", "-c", file, "--data-dir", folder]);
    stops.push(() => running.end());
    expect(await running.exited).toBe(1);
    expect(running.output()).toContain(`listen: cannot listen on ${listen}: another program has this port`);
  });
});
