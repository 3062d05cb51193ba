import { afterEach, describe, expect, test } from "vitest";
import { realRay } from "../fakes/real-ray.ts";
import { type GangReplica, GangSite, type NodeSpec, type RankView } from "./gang-site.ts";
import { until } from "./wait.ts";

let site: GangSite | undefined;
afterEach(async () => {
  await site?.stop();
  site = undefined;
});

const A: NodeSpec = { id: "node-a", address: "127.0.0.2", ports: "43000-43009", fabric: "ib-a" };
const B: NodeSpec = { id: "node-b", address: "127.0.0.3", ports: "43010-43019", fabric: "ib-a" };

const ray = await realRay();

async function twoNodes(second: NodeSpec = B): Promise<GangSite> {
  const own = await GangSite.start();
  site = own;
  await own.addNodes(A, second);
  return own;
}

const big = (engine: string, more: Readonly<Record<string, unknown>> = {}) => ({
  ...{ name: "big", engine, resources: { nodes: 2, gpus: 1 }, start_timeout: "30s", ...more },
});

const isReady = ({ state }: GangReplica): boolean => state === "ready";
const rankOf = ({ gang }: GangReplica, rank: number): RankView => gang?.ranks[rank] ?? expect.fail("no such rank");
const pidOf = (replica: GangReplica, rank: number): number => rankOf(replica, rank).pid ?? expect.fail("no pid");
const isWhole = (replica: GangReplica, attempt: number): boolean =>
  isReady(replica) && replica.gang?.attempt === attempt && replica.gang.ranks.every(({ state }) => state === "running");

describe.each([
  { engine: "vllm", peerDeath: "hang", version: "vllm 0.33.0" },
  { engine: "sglang", peerDeath: "die", version: "sglang 0.5.9" },
])("two nodes, $engine, whose ranks $peerDeath when a peer dies", ({ engine, peerDeath }) => {
  test("one replica of both: checked, started together, killed and started again together, taken over, stopped together", async () => {
    const own = await twoNodes();
    await own.apply(big(engine, { env: { STAND_IN_PEER_DEATH: peerDeath } }));
    const first = await own.replica("the gang to be ready", (replica) => isWhole(replica, 1));
    expect(first.node).toBe("node-a");
    expect(first.gang?.ranks.map(({ node, state }) => `${node} ${state}`)).toEqual([
      "node-a running",
      "node-b running",
    ]);
    expect(first.gang?.check).toMatch(/^every rank reaches every other/);
    expect(await own.chat("big")).toBe("from 2 ranks");

    const wide = await own.ctl("replicas", "-o", "wide");
    expect(wide.stdout).toContain("0 node-a running, 1 node-b running");
    const log = await own.ctl("logs", first.id, "--rank", "1");
    expect(log.stdout).toContain("rank 1 joined 127.0.0.2:");
    expect((await own.ctl("logs", first.id)).stdout).toContain("rank 1 joined");

    // A follower is killed: the head could hang for ever.
    process.kill(pidOf(first, 1), "SIGKILL");
    const second = await own.replica("all ranks in a second attempt", (replica) => isWhole(replica, 2));
    expect(second.gang?.lastEnd).toMatch(/^rank 1 on node-b: .*SIGKILL/);
    expect([pidOf(second, 0), pidOf(second, 1)]).not.toContain(pidOf(first, 0));
    expect(second.restarts).toBe(1);
    expect(await own.chat("big")).toBe("from 2 ranks");

    // The head is killed.
    process.kill(pidOf(second, 0), "SIGKILL");
    const third = await own.replica("all ranks in a third attempt", (replica) => isWhole(replica, 3));
    expect(third.gang?.lastEnd).toMatch(/^rank 0 on node-a: .*SIGKILL/);
    expect(await own.engines()).toHaveLength(2);

    // An agent that starts again takes over its rank.
    await own.endAgent("node-b", "SIGKILL");
    own.startAgent("node-b");
    const after = await own.replica("the same ranks after a restart of an agent", (replica) => isWhole(replica, 3));
    expect(after.gang?.ranks.map(({ pid }) => pid)).toEqual(third.gang?.ranks.map(({ pid }) => pid));
    expect(await own.chat("big")).toBe("from 2 ranks");

    await own.ctl("delete", "profile", "big", "--yes");
    await until("no engine to be left", async () => (await own.engines()).length === 0, own.seen());
  });
});

test.runIf(ray !== undefined)(
  "ray mode with the real Ray: two nodes, a killed node of the cluster, started again together",
  async () => {
    const own = await GangSite.start();
    site = own;
    const engines = await own.rayProgram(ray ?? "");
    await own.addNodes({ ...A, engines }, { ...B, engines });
    await own.apply(big("vllm", { start_timeout: "60s" }));
    const first = await own.replica("the gang to be ready", (replica) => isWhole(replica, 1));
    expect(await own.chat("big")).toBe("from 2 nodes");
    process.kill(pidOf(first, 1), "SIGKILL");
    const second = await own.replica("all ranks in a second attempt", (replica) => isWhole(replica, 2));
    expect(second.gang?.lastEnd).toMatch(/^rank 1 on node-b: .*SIGKILL/);
    expect(await own.chat("big")).toBe("from 2 nodes");
    await own.ctl("delete", "profile", "big", "--yes");
    await until("no process of Ray to be left", async () => (await own.engines()).length === 0, own.seen());
  },
);

test("a node that is lost takes its gang with it: the others are stopped, and it is placed anew when there is room again", async () => {
  const own = await twoNodes();
  await own.apply(big("vllm"));
  const first = await own.replica("the gang to be ready", (replica) => isWhole(replica, 1));
  await own.endAgent("node-b", "SIGKILL");
  // Unreachable is no reason to change anything.
  const silent = await own.replica("node-b to be unreachable", ({ gang }) => gang?.ranks[1]?.state === "unreachable");
  expect(silent.state).toBe("ready");
  const waiting = await own.replica("another to wait for its place", ({ state }) => state === "pending");
  expect(waiting.id).not.toBe(first.id);
  await until("the head to be stopped", async () => !(await own.engines()).includes(pidOf(first, 0)), own.seen());
  own.startAgent("node-b");
  const next = await own.replica("another gang on both", (replica) => isWhole(replica, 1) && replica.id !== first.id);
  expect(next.gang?.ranks.map(({ node }) => node)).toEqual(["node-a", "node-b"]);
  expect(await own.engines()).toHaveLength(2);
});

test("what cannot be is refused with every reason, and what has no place says why", async () => {
  const own = await twoNodes({ ...B, fabric: "ib-b" });
  const wrong = big("vllm", { resources: { nodes: 2, gpus: 1 }, parallel: { tensor: 4 } });
  await expect(own.apply(wrong)).rejects.toThrow(
    /tensor × pipeline \(4 × 1 = 4\) must equal gpus × nodes \(1 × 2 = 2\)/,
  );
  await expect(own.apply(big("vllm", { resources: { nodes: 2 } }))).rejects.toThrow(/needs GPUs on each/);
  await expect(own.apply(big("llama.cpp"))).rejects.toThrow(/llama\.cpp runs a replica on one node only/);
  expect(await own.replicas()).toEqual([]);
  await own.apply(big("vllm"));
  const { rejections = [] } = await own.replica("the refusals", ({ rejections: all = [] }) => all.length === 2);
  expect(rejections.map(({ node, reason }) => `${node}: ${reason}`)).toEqual([
    "node-a: fabric ib-a has 1 node with 1 free GPU, 2 are needed",
    "node-b: fabric ib-b has 1 node with 1 free GPU, 2 are needed",
  ]);
  expect((await own.ctl("explain", "big")).stdout).toContain("make room on 1 more node of fabric ib-a");
});
