import fc from "fast-check";
import { expect, test } from "vitest";
import { profile } from "../../test/fakes/values.ts";
import type { DesiredReplica } from "../core/desired.ts";
import { type GangOrder, NEW_GANG } from "../core/gang.ts";
import { bytes, gpuUuid, millis, type NodeId, nodeId, replicaId } from "../core/ids.ts";
import type { NodeLiveness } from "../core/node.ts";
import type { ObservedReplica, ObservedReplicaState } from "../core/observed.ts";
import { type Profile, specHash } from "../core/profile.ts";
import { type Placement, type Replica, REPLICA_TRAITS, sharesOf } from "../core/replica-state.ts";
import { reconcileCluster } from "./cluster.ts";
import { desiredReplicas } from "./desired.ts";

/** A rank on a node that obeys in its own time. */
interface Local {
  readonly task: DesiredReplica;
  stage: "preparing" | "prepared" | "checked" | "launched" | "ready" | "ended" | "stopping";
}

/** What is true, what was said, and what was told: three different things, as in a room of machines. */
interface Node {
  liveness: NodeLiveness;
  desired: readonly DesiredReplica[];
  revision: number;
  /** Undefined: its agent was started again and has heard nothing yet. */
  told: readonly DesiredReplica[] | undefined;
  acted: number;
  readonly local: Map<string, Local>;
  said: { readonly revision: number; readonly replicas: readonly ObservedReplica[] } | undefined;
}

interface World {
  now: number;
  profiles: readonly Profile[];
  replicas: readonly Replica[];
  readonly nodes: Map<NodeId, Node>;
  made: number;
  /** Every "replica attempt rank" whose node has tried the way to the others. */
  readonly checked: Set<string>;
}

/** Two of one fabric, three of another. */
const ISLANDS = [
  ["a1", "a2"],
  ["b1", "b2", "b3"],
].map((island) => island.map(nodeId));
const NODES = ISLANDS.flat();
const big = profile("big", { engine: "vllm", resources: { nodes: 2, gpus: 1 } });

const newWorld = (): World => ({
  now: 0,
  profiles: [big],
  replicas: [],
  nodes: new Map(
    NODES.map((id) => [
      id,
      { liveness: "connected", desired: [], revision: 0, told: [], acted: 0, local: new Map(), said: undefined },
    ]),
  ),
  made: 0,
  checked: new Set(),
});

const nodeOf = (world: World, id: NodeId): Node => world.nodes.get(id) ?? expect.fail("no such node");

function planTurn(world: World): void {
  const reports = [...world.nodes].map(
    ([id, { liveness, said, revision }]) => [id, { liveness, observed: said, desiredRevision: revision }] as const,
  );
  const plan = reconcileCluster({
    ...{ profiles: world.profiles, replicas: world.replicas, nodes: new Map(reports) },
    routers: { reports: [], goneSince: new Map(world.replicas.map(({ id }) => [id, 0])), settled: true },
    ...{ drainOf: new Map(), emptying: new Map(), makesRoom: new Set(), scaled: new Map(), now: millis(world.now) },
  });
  const created = plan.create.flatMap(({ count }) => Array.from({ length: count }, () => newReplica(world)));
  world.replicas = [...plan.replicas, ...created].reduce<readonly Replica[]>(
    (placed, one) => [...placed, one.state.kind === "pending" ? placeOne(one, placed, world) : one],
    [],
  );
  for (const [id, node] of world.nodes) {
    const desired = desiredReplicas(id, world.replicas, () => big);
    if (JSON.stringify(desired) === JSON.stringify(node.desired)) continue;
    node.desired = desired;
    node.revision += 1;
  }
}

function newReplica(world: World): Replica {
  world.made += 1;
  return {
    ...{ id: replicaId(`r${String(world.made).padStart(3, "0")}`), profile: big.name, specHash: specHash(big) },
    ...{ state: { kind: "pending", rejections: [] }, placement: undefined, apiKey: "", restarts: 0, pid: undefined },
    ...{ generation: 0, createdAt: millis(world.now), since: millis(world.now) },
  };
}

function placeOne(replica: Replica, others: readonly Replica[], { nodes }: World): Replica {
  const taken = new Set(
    others
      .filter(({ state }) => REPLICA_TRAITS[state.kind].holdsResources)
      .flatMap(({ placement }) => sharesOf(placement).map(({ node }) => node)),
  );
  const free = ISLANDS.map((island) =>
    island.filter((id) => nodes.get(id)?.liveness === "connected" && !taken.has(id)),
  ).find((island) => island.length >= 2);
  const [head, follower] = free ?? [];
  if (head === undefined || follower === undefined) return replica;
  const share = (node: NodeId) => ({ node, gpus: [gpuUuid(node)], memory: bytes(0), gpuMemory: bytes(0) });
  const gang = { fabric: "f", engine: "vllm", followers: [share(follower)] } as const;
  const placement: Placement = { ...share(head), gang };
  return { ...replica, state: { kind: "placed" }, placement, gang: NEW_GANG };
}

const attemptOf = ({ gang }: DesiredReplica): number => gang?.attempt ?? 0;
const keyOf = (task: DesiredReplica, rank: number): string => `${task.id} ${String(attemptOf(task))} ${String(rank)}`;

/** One step of a node's agent: it takes up what it was told, and each rank goes one stage on. */
function nodeTurn(world: World, id: NodeId): void {
  const node = nodeOf(world, id);
  if (node.liveness === "connected") {
    node.told = node.desired;
    node.acted = node.revision;
  }
  if (node.told === undefined) return;
  for (const [name, local] of node.local) {
    const want = node.told.find((one) => one.id === name);
    if (want === undefined || attemptOf(want) !== attemptOf(local.task)) leave(node, local);
    else advance(world, local, want);
  }
  for (const want of node.told) {
    // GPUs of a process that is being ended are not given twice.
    if (node.local.size > 0) continue;
    node.local.set(want.id, { task: want, stage: "preparing" });
  }
  if (node.liveness === "connected") say(node);
}

const RUNNING: readonly Local["stage"][] = ["launched", "ready"];

function leave(node: Node, local: Local): void {
  if (RUNNING.includes(local.stage)) local.stage = "stopping";
  else node.local.delete(local.task.id);
}

function advance(world: World, local: Local, want: DesiredReplica): void {
  local.stage = nextStage(world, local, want);
  const { rank = 0, ranks = 0 } = want.gang ?? {};
  if (local.stage === "checked") world.checked.add(keyOf(want, rank));
  if (local.stage !== "launched") return;
  for (let peer = 0; peer < ranks; peer++) expect(world.checked).toContain(keyOf(want, peer));
}

/** An agent that was away between the check and the start does not know what became of its part. */
const NEXT: Readonly<Record<GangOrder, Partial<Record<Local["stage"], Local["stage"]>>>> = {
  prepare: { preparing: "prepared" },
  check: { preparing: "prepared", prepared: "checked" },
  run: { preparing: "ended", prepared: "ended", checked: "launched", launched: "ready" },
};

function nextStage(world: World, { stage }: Local, want: DesiredReplica): Local["stage"] {
  const { order, rank, members, ranks } = want.gang ?? expect.fail("no gang");
  expect(members).toHaveLength(order === "prepare" ? 0 : ranks);
  const next = NEXT[order][stage] ?? stage;
  return next === "ready" && rank === 0 && !isJoined(world, want) ? stage : next;
}

/** A head answers when all ranks of its attempt run. */
const isJoined = (world: World, { id, gang }: DesiredReplica): boolean =>
  running(world).filter(({ task }) => task.id === id && attemptOf(task) === gang?.attempt).length === gang?.ranks;

const running = (world: World): readonly Local[] =>
  [...world.nodes.values()].flatMap(({ local }) => [...local.values()].filter(({ stage }) => RUNNING.includes(stage)));

const STATES: Readonly<Record<Local["stage"], ObservedReplicaState>> = {
  preparing: { kind: "preparing", progress: undefined },
  prepared: { kind: "starting", note: "" },
  checked: { kind: "starting", note: "" },
  launched: { kind: "starting", note: "" },
  ready: { kind: "ready", endpoint: { host: "h", port: 1 }, slots: 1, context: 1, engine: "vllm 1" },
  ended: { kind: "failed", reason: "it crashed", lastLines: [] },
  stopping: { kind: "stopping" },
};

function say(node: Node): void {
  const replicas = [...node.local.values()].map(({ task, stage }): ObservedReplica => {
    const { rank = 0, attempt = 0, ranks = 0 } = task.gang ?? {};
    const prepared = { engine: "vllm 1", weights: "w", digest: "", address: "10.0.0.1", port: 1 };
    const findings = Array.from({ length: ranks }, (_, peer) => ({ peer, problem: "", clockAhead: 0 }));
    const report = {
      ...{ rank, attempt, prepared: stage === "preparing" ? undefined : prepared, retry: true, blamesOthers: false },
      findings: stage === "preparing" || stage === "prepared" ? undefined : findings,
      ...{ launched: RUNNING.includes(stage), endedAt: stage === "ended" ? millis(1) : undefined },
    };
    const { id, profile: of, specHash: hash } = task;
    return { id, profile: of, specHash: hash, state: STATES[stage], restarts: 0, pid: 1, rank: report };
  });
  node.said = { revision: node.acted, replicas };
}

const LIVENESS: Readonly<Record<string, { readonly from: readonly NodeLiveness[]; readonly to: NodeLiveness }>> = {
  back: { from: ["unreachable", "lost"], to: "connected" },
  silent: { from: ["connected"], to: "unreachable" },
  lost: { from: ["unreachable"], to: "lost" },
};

/** A killed process, an agent that starts again, a node that is silent or given up, and one that is back. */
function fault(world: World, id: NodeId, what: "crash" | "restart" | "silent" | "lost" | "back"): void {
  const node = nodeOf(world, id);
  const change = LIVENESS[what];
  if (change?.from.includes(node.liveness)) node.liveness = change.to;
  if (what === "crash")
    for (const local of node.local.values()) if (RUNNING.includes(local.stage)) local.stage = "ended";
  if (what === "restart") restart(node);
  if (what === "back") dropStopped(node);
}

/** What runs is taken over; of all else its agent knows nothing. */
function restart(node: Node): void {
  node.told = undefined;
  for (const [name, { stage }] of node.local) {
    if (stage !== "stopping" && !RUNNING.includes(stage)) node.local.delete(name);
  }
}

function dropStopped({ local }: Node): void {
  for (const [name, { stage }] of local) if (stage === "stopping") local.delete(name);
}

function check(world: World): void {
  for (const [id, all] of Map.groupBy(running(world), ({ task }) => task.id)) {
    const attempts = new Set(all.map(({ task }) => attemptOf(task)));
    expect([...attempts], `${id} runs in two attempts at once`).toHaveLength(1);
  }
  for (const { local } of world.nodes.values()) expect(local.size).toBeLessThanOrEqual(1);
  const held = world.replicas
    .filter(({ state }) => REPLICA_TRAITS[state.kind].holdsResources)
    .flatMap(({ placement }) => sharesOf(placement).map(({ node }) => node))
    .filter((id) => nodeOf(world, id).liveness === "connected");
  for (const { placement } of world.replicas) {
    const islands = sharesOf(placement).map(({ node }) => ISLANDS.findIndex((island) => island.includes(node)));
    expect(new Set(islands).size).toBeLessThanOrEqual(1);
  }
  expect(new Set(held).size).toBe(held.length);
}

function settle(world: World, turns: number): void {
  for (let turn = 0; turn < turns; turn++) {
    world.now += 5_000;
    planTurn(world);
    for (const id of NODES) nodeTurn(world, id);
    for (const node of world.nodes.values()) dropStopped(node);
    check(world);
  }
}

/** The first island is where the first gang goes. */
const anyNode = fc.constantFrom(...(ISLANDS[0] ?? []), ...(ISLANDS[0] ?? []), ...NODES);

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant("node" as const), node: anyNode }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant("plan" as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom("crash" as const, "restart" as const, "silent" as const, "lost" as const, "back" as const),
        node: anyNode,
      }),
    },
  ),
  { minLength: 60, maxLength: 150 },
);

test("whatever crashes and whoever is silent: one attempt at a time, nothing starts alone, and in the end all ranks serve", () => {
  fc.assert(
    fc.property(steps, fc.boolean(), (all, beginsReady) => {
      const world = newWorld();
      if (beginsReady) settle(world, 12);
      for (const step of all) {
        world.now += 200;
        if (step.do === "plan") planTurn(world);
        else if (step.do === "node") nodeTurn(world, step.node);
        else fault(world, step.node, step.do);
        check(world);
      }
      for (const id of NODES) fault(world, id, "back");
      settle(world, 30);
      for (const { state, gang } of world.replicas)
        if (state.kind === "failed") expect(gang?.attempt).toBeGreaterThan(5);
      // What failed five times stays failed until an operator asks for another: then it serves.
      world.replicas = world.replicas.map((one) => (one.state.kind === "failed" ? { ...one, replace: "asked" } : one));
      settle(world, 30);
      expect(world.replicas.map(({ state }) => state.kind)).toEqual(["ready"]);
      expect(running(world)).toHaveLength(2);
      const [only] = world.replicas;
      const nodes = [...world.nodes].filter(([, { local }]) => local.size > 0).map(([id]) => id);
      expect(nodes).toEqual(sharesOf(only?.placement).map(({ node }) => node));
    }),
    { numRuns: 80 },
  );
});
