import fc from "fast-check";
import { expect, test } from "vitest";
import { profile } from "../../test/fakes/values.ts";
import { bytes, type Millis, millis, type NodeId, nodeId, type ReplicaId, replicaId } from "../core/ids.ts";
import type { ObservedReplica, ObservedReplicaState } from "../core/observed.ts";
import { baseCount, type Profile, specHash } from "../core/profile.ts";
import { type Replica, REPLICA_TRAITS } from "../core/replica-state.ts";
import { reconcileCluster } from "./cluster.ts";
import { desiredReplicas } from "./desired.ts";
import type { NodeReport } from "./follow.ts";

/** A node that obeys in its own time: an engine takes a turn for each step up, and a turn to end. */
interface World {
  now: number;
  profiles: readonly Profile[];
  replicas: readonly Replica[];
  readonly nodes: Map<
    NodeId,
    { revision: number; desired: readonly string[]; acted: number; engines: Map<string, ObservedReplica> }
  >;
  /** Slots: replicas that fit on each node. */
  readonly room: number;
  readonly specs: Map<string, Profile>;
  made: number;
  /** Nodes that get no new replicas and are to be empty by then. */
  readonly emptying: Map<NodeId, Millis>;
  table: { revision: number; ids: readonly ReplicaId[] };
  readonly goneSince: Map<ReplicaId, number>;
}

const NODES = ["n1", "n2", "n3"].map(nodeId);
const readyState: ObservedReplicaState = {
  kind: "ready",
  endpoint: { host: "10.0.0.1", port: 1 },
  slots: 1,
  context: 1,
  engine: "e",
};

const FULL = { node: nodeId("n1"), filter: "memory", reason: "is full" };

const newWorld = (room: number): World => ({
  now: 0,
  profiles: [],
  replicas: [],
  nodes: new Map(NODES.map((id) => [id, { revision: 0, desired: [], acted: 0, engines: new Map() }])),
  room,
  specs: new Map(),
  made: 0,
  emptying: new Map(),
  table: { revision: 0, ids: [] },
  goneSince: new Map(),
});

function reports(world: World): Map<NodeId, NodeReport> {
  return new Map(
    [...world.nodes].map(([id, { revision, acted, engines }]) => [
      id,
      {
        liveness: "connected" as const,
        observed: { revision: acted, replicas: [...engines.values()] },
        desiredRevision: revision,
      },
    ]),
  );
}

function controlPlaneTurn(world: World): void {
  const plan = reconcileCluster({
    profiles: world.profiles,
    replicas: world.replicas,
    nodes: reports(world),
    routers: {
      reports: [{ router: "r", tableRevision: world.table.revision, inFlight: new Map(), waiting: new Map() }],
      goneSince: world.goneSince,
      settled: true,
    },
    drainOf: new Map(),
    emptying: world.emptying,
    // One slot is as good as another, but for those that no new one may have.
    makesRoom: new Set(
      world.replicas.flatMap(({ id, placement }) =>
        placement === undefined || world.emptying.has(placement.node) ? [] : [id],
      ),
    ),
    scaled: new Map(),
    now: millis(world.now),
  });
  const created = plan.create.flatMap(({ profile: name, specHash: hash, count }) =>
    Array.from({ length: count }, (): Replica => {
      world.made += 1;
      const id = replicaId(`r${String(world.made).padStart(4, "0")}`);
      const state = { kind: "pending", rejections: [] } as const;
      const rest = { apiKey: "", restarts: 0, pid: undefined, generation: 0 };
      return {
        ...rest,
        id,
        profile: name,
        specHash: hash,
        state,
        placement: undefined,
        createdAt: millis(world.now),
        since: millis(world.now),
      };
    }),
  );
  world.replicas = placePending([...plan.replicas, ...created], world);
  publish(world);
}

function placePending(replicas: readonly Replica[], { room, emptying }: World): readonly Replica[] {
  const used = new Map<NodeId, number>();
  for (const { state, placement } of replicas) {
    if (placement === undefined || !REPLICA_TRAITS[state.kind].holdsResources) continue;
    used.set(placement.node, (used.get(placement.node) ?? 0) + 1);
  }
  return replicas.map((replica) => {
    if (replica.state.kind !== "pending") return replica;
    const node = NODES.find((id) => !emptying.has(id) && (used.get(id) ?? 0) < room);
    if (node === undefined) return { ...replica, state: { kind: "pending", rejections: [FULL] } };
    used.set(node, (used.get(node) ?? 0) + 1);
    return {
      ...replica,
      state: { kind: "placed" },
      placement: { node, gpus: [], memory: bytes(0), gpuMemory: bytes(0) },
    };
  });
}

function publish(world: World): void {
  for (const [id, node] of world.nodes) {
    const desired = desiredReplicas(id, world.replicas, (r) => world.specs.get(r.specHash)).map((want) => want.id);
    if (desired.join() === node.desired.join()) continue;
    node.desired = desired;
    node.revision += 1;
  }
  const ids = world.replicas.filter(({ state }) => state.kind === "ready").map(({ id }) => id);
  if (ids.join() !== world.table.ids.join()) world.table = { revision: world.table.revision + 1, ids };
  for (const { id, state } of world.replicas) {
    if (state.kind !== "draining") world.goneSince.delete(id);
    else if (!world.goneSince.has(id)) world.goneSince.set(id, world.table.revision);
  }
}

/** `crash`: that engine begins again. */
function nodeTurn(world: World, id: NodeId, crash: number): void {
  const node = world.nodes.get(id);
  if (node === undefined) return;
  node.acted = node.revision;
  for (const [name, engine] of node.engines) {
    if (!node.desired.includes(name)) {
      if (engine.state.kind === "stopping") node.engines.delete(name);
      else node.engines.set(name, { ...engine, state: { kind: "stopping" } });
      continue;
    }
    const up: ObservedReplicaState = engine.state.kind === "preparing" ? { kind: "starting", note: "" } : readyState;
    node.engines.set(name, { ...engine, state: up });
  }
  for (const name of node.desired) {
    const replica = world.replicas.find((one) => one.id === name);
    if (node.engines.has(name) || replica === undefined) continue;
    const state = { kind: "preparing", progress: undefined } as const;
    node.engines.set(name, {
      id: replica.id,
      profile: replica.profile,
      specHash: replica.specHash,
      state,
      restarts: 0,
      pid: 1,
    });
  }
  crashOne(node.engines, crash);
}

function crashOne(engines: Map<string, ObservedReplica>, index: number): void {
  const victim = [...engines.values()][index];
  if (victim?.state.kind === "ready")
    engines.set(victim.id, { ...victim, state: { kind: "starting", note: "crashed" } });
}

const want = (count: number, args: readonly string[]): Profile =>
  profile("p", { replicas: { kind: "fixed", count }, args, rollout: { surge: 1, unavailable: 0, drain: millis(50) } });

const isCounting = ({ state }: Replica): boolean => REPLICA_TRAITS[state.kind].counts;
const readyOnes = (world: World) => world.replicas.filter(({ state }) => state.kind === "ready");

function checkSafety(world: World): void {
  const counting = world.replicas.filter(isCounting).length;
  const [profileNow] = world.profiles;
  const most = profileNow === undefined ? 0 : baseCount(profileNow.replicas) + 1;
  expect(counting).toBeLessThanOrEqual(most);
  for (const { engines } of world.nodes.values()) expect(engines.size).toBeLessThanOrEqual(world.room);
}

const turns = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("node" as const),
        node: fc.constantFrom(...NODES),
        crash: fc.integer({ min: -5, max: 2 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("plan" as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("apply" as const),
        count: fc.integer({ min: 0, max: 3 }),
        args: fc.constantFrom([], ["a"], ["b"]),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const) }) },
  ),
  { maxLength: 60 },
);

function apply(world: World, wanted: Profile | undefined): void {
  world.profiles = wanted === undefined ? [] : [wanted];
  if (wanted !== undefined) world.specs.set(specHash(wanted), wanted);
}

test("whatever is applied and whatever crashes: never too many, never two in one place, and in the end what was asked for", () => {
  fc.assert(
    fc.property(turns, fc.integer({ min: 2, max: 3 }), (steps, room) => {
      const world = newWorld(room);
      for (const step of steps) {
        world.now += 1;
        if (step.do === "node") nodeTurn(world, step.node, step.crash);
        if (step.do === "apply") apply(world, want(step.count, step.args));
        if (step.do === "delete") apply(world, undefined);
        // A change is decided on in the same turn, as the loop does.
        if (step.do !== "node") controlPlaneTurn(world);
        checkSafety(world);
      }
      for (let turn = 0; turn < 60; turn++) {
        world.now += 1;
        for (const id of NODES) nodeTurn(world, id, -1);
        controlPlaneTurn(world);
        checkSafety(world);
      }
      const [last] = world.profiles;
      const wanted = last === undefined ? [] : Array.from({ length: baseCount(last.replicas) }, () => specHash(last));
      expect(world.replicas.map(({ state, specHash: hash }) => (state.kind === "ready" ? hash : state.kind))).toEqual(
        wanted,
      );
      const running = [...world.nodes.values()].flatMap(({ engines }) => [...engines.keys()]).toSorted();
      expect(running).toEqual(world.replicas.map(({ id }) => id).toSorted());
    }),
    { numRuns: 200 },
  );
});

test("a change of the profile never goes below the promised count, nor beyond it by more than the surge", () => {
  const order = fc.array(fc.oneof(fc.constantFrom<NodeId | "plan">(...NODES, "plan"), fc.constant("plan" as const)), {
    minLength: 40,
    maxLength: 120,
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), order, (count, steps) => {
      const world = newWorld(2);
      apply(world, want(count, []));
      for (let turn = 0; turn < 10; turn++) {
        controlPlaneTurn(world);
        for (const id of NODES) nodeTurn(world, id, -1);
      }
      expect(readyOnes(world)).toHaveLength(count);
      apply(world, want(count, ["new"]));
      for (const step of steps) {
        world.now += 1;
        if (step === "plan") controlPlaneTurn(world);
        else nodeTurn(world, step, -1);
        expect(readyOnes(world).length).toBeGreaterThanOrEqual(count);
        checkSafety(world);
      }
    }),
    { numRuns: 200 },
  );
});

const orders = fc.array(fc.oneof(fc.constantFrom<NodeId | "plan">(...NODES, "plan"), fc.constant("plan" as const)), {
  minLength: 40,
  maxLength: 120,
});

function settled(world: World): void {
  for (let turn = 0; turn < 40; turn++) {
    world.now += 1;
    controlPlaneTurn(world);
    for (const id of NODES) nodeTurn(world, id, -1);
  }
  controlPlaneTurn(world);
}

test("without room for one more, replicas are swapped: never more than one is missing, and all are replaced in the end", () => {
  fc.assert(
    fc.property(orders, fc.constantFrom<"change" | "restart">("change", "restart"), (steps, what) => {
      const world = newWorld(1);
      apply(world, want(3, []));
      settled(world);
      const before = new Set(world.replicas.map(({ id }) => id));
      expect(readyOnes(world)).toHaveLength(3);
      if (what === "change") apply(world, want(3, ["new"]));
      else world.replicas = world.replicas.map((one) => ({ ...one, replace: "an operator's word" }));
      for (const step of steps) {
        world.now += 1;
        if (step === "plan") controlPlaneTurn(world);
        else nodeTurn(world, step, -1);
        expect(readyOnes(world).length).toBeGreaterThanOrEqual(2);
        checkSafety(world);
      }
      settled(world);
      expect(readyOnes(world)).toHaveLength(3);
      expect(world.replicas.filter(({ id }) => before.has(id))).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test("a node that is drained is empty in the end; while there is room elsewhere, and until the deadline, nothing is missing", () => {
  fc.assert(
    fc.property(orders, fc.integer({ min: 1, max: 6 }), (steps, count) => {
      const world = newWorld(2);
      apply(world, want(count, []));
      settled(world);
      const ready = readyOnes(world).length;
      const emptied = NODES[0] ?? nodeId("");
      const deadline = world.now + 60;
      world.emptying.set(emptied, millis(deadline));
      for (const step of steps) {
        world.now += 1;
        if (step === "plan") controlPlaneTurn(world);
        else nodeTurn(world, step, -1);
        if (world.now < deadline) expect(readyOnes(world).length).toBeGreaterThanOrEqual(ready);
      }
      world.now = Math.max(world.now, deadline);
      settled(world);
      expect(readyOnes(world)).toHaveLength(Math.min(count, 4));
      expect(world.nodes.get(emptied)?.engines.size).toBe(0);
    }),
    { numRuns: 60 },
  );
});
