import fc from "fast-check";
import { expect, test } from "vitest";
import type { DesiredReplica } from "../core/desired.ts";
import type { GangOrder, GangTask } from "../core/gang.ts";
import { gpuUuid, millis, profileName, replicaId } from "../core/ids.ts";
import { type LocalReplica, type NodeAction, reconcileNode } from "./node.ts";

const replica = (id: string, over: Partial<DesiredReplica> = {}): DesiredReplica => ({
  id: replicaId(id),
  profile: profileName("chat"),
  specHash: "h1",
  serves: ["chat"],
  engine: "auto",
  model: { source: "file:/m.gguf", files: [], sha256: {} },
  context: undefined,
  args: [],
  env: {},
  gpus: [],
  apiKey: "k",
  startTimeout: millis(1000),
  generation: 1,
  ...over,
});
const local = (what: DesiredReplica, phase: LocalReplica["phase"] = "active"): LocalReplica => ({
  replica: what,
  phase,
});
const shown = (action: NodeAction): string => {
  const id = action.kind === "start" || action.kind === "retune" ? action.replica.id : action.id;
  return `${action.kind} ${id}${action.kind === "stop" ? ` ${action.why}` : ""}`;
};
const gpu = gpuUuid("GPU-0");

const gang = (attempt: number, order: GangOrder = "prepare"): GangTask => ({
  ...{ rank: 0, ranks: 2, fabric: "ib-a", attempt, order, members: [] },
});

test.each<{ name: string; desired: DesiredReplica[]; local: LocalReplica[]; want: string[] }>([
  { name: "what is missing is started", desired: [replica("a")], local: [], want: ["start a"] },
  { name: "a repeated plan changes nothing", desired: [replica("a")], local: [local(replica("a"))], want: [] },
  { name: "what is not wanted is stopped", desired: [], local: [local(replica("a"))], want: ["stop a unwanted"] },
  {
    name: "another spec means another process",
    desired: [replica("a", { specHash: "h2" })],
    local: [local(replica("a"))],
    want: ["stop a outdated"],
  },
  {
    name: "two that are wanted on one GPU share it",
    desired: [replica("a", { gpus: [gpu] }), replica("b", { gpus: [gpu] })],
    local: [local(replica("a", { gpus: [gpu] }))],
    want: ["start b"],
  },
  {
    name: "one that is to share a GPU waits for another that leaves it first",
    desired: [replica("a", { gpus: [gpu], specHash: "h2" }), replica("b", { gpus: [gpu] })],
    local: [local(replica("a", { gpus: [gpu] }))],
    want: ["stop a outdated"],
  },
  {
    name: "a fresh start was ordered",
    desired: [replica("a", { generation: 2 })],
    local: [local(replica("a"))],
    want: ["stop a outdated"],
  },
  {
    name: "a rank of another attempt has nobody to work with",
    desired: [replica("a", { gang: gang(2) })],
    local: [local(replica("a", { gang: gang(1) }))],
    want: ["stop a outdated"],
  },
  {
    name: "a rank that failed waits for another attempt",
    desired: [replica("a", { gang: gang(1, "run") })],
    local: [local(replica("a", { gang: gang(1, "check") }), "failed")],
    want: [],
  },
  {
    name: "a rank is told what is next within its attempt",
    desired: [replica("a", { gang: gang(1, "check") })],
    local: [local(replica("a", { gang: gang(1) }))],
    want: ["retune a"],
  },
  {
    name: "the routers' key changed",
    desired: [replica("a", { apiKey: "k2" })],
    local: [local(replica("a"))],
    want: ["stop a outdated"],
  },
  {
    name: "more time to start needs no restart",
    desired: [replica("a", { startTimeout: millis(2) })],
    local: [local(replica("a"))],
    want: ["retune a"],
  },
  {
    name: "B33 failed is left when it gets more time",
    desired: [replica("a", { startTimeout: millis(2) })],
    local: [local(replica("a"), "failed")],
    want: ["stop a outdated"],
  },
  {
    name: "failed is not left by a repeated plan",
    desired: [replica("a")],
    local: [local(replica("a"), "failed")],
    want: [],
  },
  { name: "what is on its way out is left alone", desired: [], local: [local(replica("a"), "held")], want: [] },
  {
    name: "what is on its way out is not started beside itself",
    desired: [replica("a")],
    local: [local(replica("a"), "held")],
    want: [],
  },
  {
    name: "what has stopped is forgotten before it may start again",
    desired: [replica("a")],
    local: [local(replica("a"), "stopped")],
    want: ["forget a"],
  },
  {
    name: "a start waits for its GPU",
    desired: [replica("b", { gpus: [gpu] })],
    local: [local(replica("a", { gpus: [gpu] }), "held")],
    want: [],
  },
])("$name", ({ desired, local: have, want }) => {
  expect(reconcileNode(desired, have).map(shown)).toEqual(want);
});

/** A node that obeys: a stop takes one pass to finish, a start is immediate. */
function runPass(before: readonly LocalReplica[], actions: readonly NodeAction[]): LocalReplica[] {
  const stops = new Set(actions.flatMap((a) => (a.kind === "stop" ? [a.id] : [])));
  const gone = new Set(actions.flatMap((a) => (a.kind === "forget" ? [a.id] : [])));
  const tuned = new Map(actions.flatMap((a) => (a.kind === "retune" ? [[a.replica.id, a.replica] as const] : [])));
  const kept = before
    .filter((have) => !gone.has(have.replica.id))
    .map((have): LocalReplica => {
      const what = tuned.get(have.replica.id) ?? have.replica;
      if (have.phase === "held") return { replica: what, phase: "stopped" };
      return { replica: what, phase: stops.has(have.replica.id) ? "held" : have.phase };
    });
  return [...kept, ...actions.flatMap((a) => (a.kind === "start" ? [local(a.replica)] : []))];
}

/** Any way to give 6 GPUs to 6 replicas; a replica that gets none runs on the CPU or not at all. */
const plan = fc
  .record({
    gpuOwner: fc.array(fc.nat({ max: 5 }), { minLength: 6, maxLength: 6 }),
    cpuOnly: fc.subarray([0, 1, 2, 3, 4, 5]),
    specHash: fc.constantFrom("h1", "h2"),
    generation: fc.constantFrom(1, 2),
    startTimeout: fc.constantFrom(1, 2),
  })
  .map(({ gpuOwner, cpuOnly, specHash, generation, startTimeout }): DesiredReplica[] =>
    [...new Set([...gpuOwner, ...cpuOnly])].map((owner) =>
      replica(`r${String(owner)}`, {
        specHash,
        generation,
        startTimeout: millis(startTimeout),
        gpus: gpuOwner.flatMap((who, index) => (who === owner ? [gpuUuid(`GPU-${String(index)}`)] : [])),
      }),
    ),
  );
const byId = (all: readonly DesiredReplica[]): DesiredReplica[] => all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
const hasDuplicates = (values: readonly unknown[]): boolean => new Set(values).size !== values.length;

test("from any plan to any other, the node gets there and shares no GPU on the way", () => {
  fc.assert(
    fc.property(plan, plan, fc.constantFrom("active", "failed", "held"), (before, after, phase) => {
      let world: LocalReplica[] = before.map((what) => local(what, phase));
      const stopped: string[] = [];
      for (let pass = 0; pass < 6; pass++) {
        const actions = reconcileNode(after, world);
        stopped.push(...actions.flatMap((a) => (a.kind === "stop" ? [a.id] : [])));
        world = runPass(world, actions);
        expect(hasDuplicates(world.map((have) => have.replica.id))).toBe(false);
        const holding = world.filter((have) => have.phase !== "stopped");
        expect(hasDuplicates(holding.flatMap((have) => have.replica.gpus))).toBe(false);
      }
      expect(hasDuplicates(stopped)).toBe(false);
      expect(byId(world.map((have) => have.replica))).toEqual(byId(after));
    }),
  );
});
