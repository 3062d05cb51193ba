import { once } from "node:events";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { dial, say, type Script, scriptedControl, welcome } from "../../test/fakes/scripted-control.ts";
import type { DesiredState } from "../core/desired.ts";
import { bytes, millis, nodeId } from "../core/ids.ts";
import type { Inventory } from "../core/node.ts";
import type { ObservedState } from "../core/observed.ts";
import { steppingClock } from "../../test/fakes/stepping-clock.ts";
import { systemClock } from "../platform/clock.ts";
import { silentLogger } from "../platform/logger.ts";
import type { SessionRequest } from "../wire/gen/llmgw/v1/agent_pb.js";
import { ControlLink, type ControlLinkOptions } from "./control-link.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-link-"));
afterAll(() => rm(root, { recursive: true, force: true }));

const WAIT = { timeout: 10_000, interval: 20 };
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function control(...scripts: [Script, ...Script[]]): Promise<string> {
  const listening = await scriptedControl(...scripts);
  closing.push(() => listening.close(millis(0)));
  return listening.url;
}

interface Bench {
  readonly link: ControlLink;
  readonly desired: DesiredState[];
  readonly logged: string[];
  inventory: Inventory;
  observed: ObservedState;
}

const plain: Inventory = {
  hostname: "gpu-a-01",
  address: "192.0.2.10",
  agentVersion: "1",
  os: "Linux",
  arch: "x64",
  cpus: 8,
  memoryTotal: bytes(1),
  memoryAvailable: bytes(1),
  disks: [],
  gpus: [],
  engines: [],
  weights: [],
  fabrics: [],
  labels: {},
  problems: [],
  notes: [],
};

function node(
  servers: ControlLinkOptions["servers"],
  over: Partial<ControlLinkOptions> = {},
  heartbeatInterval = millis(100),
): Bench {
  const desired: DesiredState[] = [];
  const logged: string[] = [];
  const logger = Object.assign(Object.create(silentLogger) as typeof silentLogger, {
    warn: (text: string) => logged.push(text),
    info: (text: string) => logged.push(text),
  });
  const bench: Bench = {
    desired,
    logged,
    inventory: plain,
    observed: { revision: 0, replicas: [] },
    link: new ControlLink({
      servers,
      dial,
      node: {
        id: nodeId("gpu-a-01"),
        instanceId: "i1",
        heartbeatInterval,
        inventory: () => bench.inventory,
        observed: () => bench.observed,
        logPathOf: (id) => (id === "chat-1" ? join(root, "engine.log") : undefined),
        onDesired: (state) => desired.push(state),
        onCertificate: () => undefined,
      },
      backoff: { base: millis(10), max: millis(50) },
      clock: systemClock,
      random: () => 0.5,
      logger,
      ...over,
    }),
  };
  const running = bench.link.run();
  closing.push(async () => {
    bench.link.leave();
    await running;
  });
  return bench;
}

/** Answers as a control plane does, and remembers what it heard. */
const attentive = (heard: SessionRequest[]): Script =>
  async function* (requests) {
    for await (const request of requests) {
      heard.push(request);
      const { body } = request;
      if (body.case === "hello") {
        yield welcome;
        yield say({ case: "desired", value: { revision: 7 } });
      }
      if (body.case === "heartbeat") yield say({ case: "heartbeatAck", value: { sequence: body.value.sequence } });
    }
  };
const casesOf = (heard: readonly SessionRequest[]) => heard.map(({ body }) => body.case);

describe("a stream", () => {
  test("begins with hello, goes on with heartbeats, and ends with a goodbye", async () => {
    const heard: SessionRequest[] = [];
    const { link, desired } = node([await control(attentive(heard))]);
    await expect.poll(() => casesOf(heard).filter((name) => name === "heartbeat").length, WAIT).toBeGreaterThan(2);
    expect(heard[0]?.body).toMatchObject({
      case: "hello",
      value: { nodeId: "gpu-a-01", instanceId: "i1", heartbeatIntervalMs: 100, inventory: { hostname: "gpu-a-01" } },
    });
    expect(desired).toMatchObject([{ revision: 7 }]);
    expect(link.isConnected).toBe(true);
    link.leave();
    await expect.poll(() => casesOf(heard).at(-1), WAIT).toBe("goodbye");
    expect(link.losses).toBe(0);
  });

  test("tells what changed, once, and nothing else", async () => {
    const heard: SessionRequest[] = [];
    const bench = node([await control(attentive(heard))]);
    await expect.poll(() => bench.link.isConnected, WAIT).toBe(true);
    bench.link.changed();
    bench.observed = { revision: 7, replicas: [] };
    bench.link.changed();
    await expect.poll(() => casesOf(heard), WAIT).toContain("observed");
    bench.link.changed();
    bench.inventory = { ...plain, problems: ["a card is lost"] };
    bench.link.changed();
    await expect.poll(() => casesOf(heard), WAIT).toContain("inventory");
    expect(casesOf(heard).filter((name) => name === "observed" || name === "inventory")).toEqual([
      "observed",
      "inventory",
    ]);
  });

  test("is not noticed by a wall clock that is set by days", async () => {
    const heard: SessionRequest[] = [];
    const clock = steppingClock();
    const { link, logged } = node([await control(attentive(heard))], { clock });
    const beats = () => casesOf(heard).filter((name) => name === "heartbeat").length;
    await expect.poll(beats, WAIT).toBeGreaterThan(1);
    for (const days of [30, -60, 400]) {
      clock.step(days * 86_400_000);
      const before = beats();
      await expect.poll(beats, WAIT).toBeGreaterThan(before + 3);
    }
    expect({ losses: link.losses, logged: logged.length }).toEqual({ losses: 0, logged: 1 });
  });

  test("B44 that goes silent is given up after two intervals, and another one is made", async () => {
    const silent: Script = async function* (requests, { signal }) {
      for await (const { body } of requests) {
        if (body.case === "hello") yield welcome;
        if (body.case === "heartbeat") await once(signal, "abort");
      }
    };
    const heard: SessionRequest[] = [];
    const { logged } = node([await control(silent, attentive(heard))]);
    await expect.poll(() => casesOf(heard), WAIT).toContain("hello");
    expect(logged.join("\n")).toMatch(/was lost: nothing was heard of it for 2\d\dms/);
  });

  test("B44 that leads nowhere from the start is given up too", async () => {
    const heard: SessionRequest[] = [];
    const url = new URL(await control(attentive(heard)));
    let connections = 0;
    const sockets: { destroy(): void }[] = [];
    const relay = createServer((near) => {
      const far = connect(Number(url.port), url.hostname);
      sockets.push(near, far);
      near.on("error", () => undefined);
      far.on("error", () => undefined);
      connections += 1;
      // The first connection is accepted and then leads nowhere.
      if (connections > 1) near.pipe(far).pipe(near);
    }).listen(0, "127.0.0.1");
    await once(relay, "listening");
    closing.push(async () => {
      for (const socket of sockets) socket.destroy();
      relay.close();
      await once(relay, "close");
    });
    const address = relay.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    const { link } = node([`http://127.0.0.1:${String(port)}`]);
    await expect.poll(() => link.isConnected, { ...WAIT, timeout: 15_000 }).toBe(true);
    expect(connections).toBe(2);
  });
});

describe("without a control plane", () => {
  test("the next address is tried, and the node is told nothing", async () => {
    const heard: SessionRequest[] = [];
    const { link, desired, logged } = node(["http://127.0.0.1:1", await control(attentive(heard))]);
    await expect.poll(() => link.isConnected, WAIT).toBe(true);
    expect(logged[0]).toContain("the control plane http://127.0.0.1:1 cannot be reached");
    expect(desired).toHaveLength(1);
  });

  test("a lost stream is made again, with everything in its hello", async () => {
    const dropping: Script = async function* (requests) {
      for await (const { body } of requests) {
        if (body.case !== "hello") continue;
        yield welcome;
        throw new ConnectError("the server stops", Code.Unavailable);
      }
    };
    const heard: SessionRequest[] = [];
    const { link, logged } = node([await control(dropping, dropping, attentive(heard))]);
    await expect.poll(() => casesOf(heard), WAIT).toContain("hello");
    expect(link.losses).toBe(2);
    expect(logged.filter((line) => line.includes("was lost: the server stops; engines serve on"))).toHaveLength(2);
  });

  test("a refusal is logged with its reason and repeated at the longest interval", async () => {
    const refusing: Script = async function* (requests) {
      for await (const { body } of requests) {
        if (body.case === "hello")
          throw new ConnectError("gpu-a-01 is in use by the agent on gpu-b", Code.AlreadyExists);
      }
      yield* [];
    };
    const heard: SessionRequest[] = [];
    const { logged } = node([await control(refusing, attentive(heard))]);
    await expect.poll(() => casesOf(heard), WAIT).toContain("hello");
    expect(logged[0]).toContain(
      "refuses this node: gpu-a-01 is in use by the agent on gpu-b; engines serve on, next try in 50ms",
    );
  });

  test("leaving ends the wait for the next try", async () => {
    const { link, logged } = node(["http://127.0.0.1:1"], { backoff: { base: millis(60_000), max: millis(60_000) } });
    await expect.poll(() => logged.length, WAIT).toBe(1);
    link.leave();
    expect(link.isConnected).toBe(false);
  });
});

describe("logs", () => {
  const asking = (heard: SessionRequest[], value: { replicaId: string; tail: number; follow: boolean }): Script =>
    async function* (requests) {
      for await (const request of requests) {
        heard.push(request);
        if (request.body.case === "heartbeat") yield say({ case: "heartbeatAck", value: { sequence: 1 } });
        if (request.body.case !== "hello") continue;
        yield welcome;
        yield say({ case: "logRequest", value: { requestId: 3, ...value } });
      }
    };
  const chunks = (heard: readonly SessionRequest[]) =>
    heard.flatMap(({ body }) => (body.case === "logChunk" ? [body.value] : []));

  test("B49 a log of 20 MiB goes in pieces of 64 KiB, whole and in order, and the stream lives on", async () => {
    const lines = Array.from({ length: 200_000 }, (_, n) => `${String(n).padStart(7, "0")} ${"x".repeat(92)}`);
    await writeFile(join(root, "engine.log"), `${lines.join("\n")}\n`);
    const heard: SessionRequest[] = [];
    const url = await control(asking(heard, { replicaId: "chat-1", tail: 1_000_000, follow: false }));
    // A busy machine holds up both ends here, which are one process: what it takes for silence is of its size.
    const { link } = node([url], {}, millis(2_000));
    await expect.poll(() => chunks(heard).at(-1)?.done, { ...WAIT, timeout: 60_000 }).toBe(true);
    expect(chunks(heard).flatMap((chunk) => chunk.lines)).toEqual(lines);
    expect(Math.max(...chunks(heard).map((chunk) => chunk.lines.join("\n").length))).toBeLessThanOrEqual(65_536);
    expect(link.losses).toBe(0);
  }, 90_000);

  test("what is written while somebody reads along arrives", async () => {
    await writeFile(join(root, "engine.log"), "old\nlast\n");
    const heard: SessionRequest[] = [];
    node([await control(asking(heard, { replicaId: "chat-1", tail: 1, follow: true }))]);
    const lines = () => chunks(heard).flatMap((chunk) => chunk.lines);
    await expect.poll(lines, WAIT).toEqual(["last"]);
    await appendFile(join(root, "engine.log"), "new\n");
    await expect.poll(lines, WAIT).toEqual(["last", "new"]);
  });

  test("a replica that is not here is said so", async () => {
    const heard: SessionRequest[] = [];
    node([await control(asking(heard, { replicaId: "nobody", tail: 1, follow: false }))]);
    await expect
      .poll(() => chunks(heard), WAIT)
      .toMatchObject([{ requestId: 3, done: true, error: "this node has no replica nobody" }]);
  });
});
