import { describe, expect, test } from "vitest";
import { gathered, heardAt } from "../../test/fakes/gathered.ts";
import { snapshot, stored, storedNode, storedSpec } from "../../test/fakes/snapshots.ts";
import { gpu, inventory, profile, ready, replica } from "../../test/fakes/values.ts";
import { bytes, millis, type NodeId, nodeId } from "../core/ids.ts";
import type { ObservedState } from "../core/observed.ts";
import type { Profile } from "../core/profile.ts";
import type { Snapshot } from "../store/store.ts";
import { decide, type Decided, type Gathered } from "./decide.ts";
import type { NodeHeard } from "./heard.ts";

const now = millis(1_000_000);
const smol = profile("smol");
const wanting = (...profiles: Profile[]): Pick<Snapshot, "profiles" | "specs"> => ({
  profiles: profiles.map(stored),
  specs: profiles.map(storedSpec),
});

const heard = (id: string, more: Partial<NodeHeard> = {}): [NodeId, NodeHeard] => [
  nodeId(id),
  { ...heardAt(now, { id: nodeId(id), inventory: inventory({ hostname: id }) }), ...more },
];

const turn = (before: Snapshot, found: Partial<Gathered> = {}): Decided => decide(before, gathered(now, found));

const told = ({ events }: Decided): readonly string[] => events.map(({ reason, subject }) => `${reason} ${subject}`);

describe("one turn", () => {
  test("a node joins, and what was pending is placed there in the same turn, with a new desired revision", () => {
    const before = turn(snapshot(wanting(smol))).snapshot;
    expect(before.replicas).toMatchObject([{ id: "smol-1", state: { kind: "pending" }, apiKey: "key-1" }]);
    const after = turn(before, { nodes: new Map([heard("n1")]) });
    expect(after.snapshot.nodes).toMatchObject([
      { id: "n1", liveness: "connected", joinedAt: now, desiredRevision: 1 },
    ]);
    expect(after.snapshot.replicas).toMatchObject([{ state: { kind: "placed" }, placement: { node: "n1" } }]);
    expect(told(after)).toEqual(["NodeJoined n1", "ReplicaPlaced smol-1"]);
  });

  test("nothing new: the same lists, nothing told, nothing to write", () => {
    const first = turn(snapshot(wanting(smol)), { nodes: new Map([heard("n1")]) }).snapshot;
    const again = turn(first, {
      nodes: new Map([heard("n1", { inventory: first.nodes[0]?.inventory ?? inventory() })]),
    });
    expect(again.events).toEqual([]);
    expect(again.snapshot.nodes).toBe(first.nodes);
    expect(again.snapshot.replicas).toBe(first.replicas);
    expect(again.snapshot.specs).toBe(first.specs);
  });

  test("B132 two replicas in one turn, room for one: one is placed, one is told why not", () => {
    const one = { gpus: [gpu("g0")] };
    const big = (name: string) =>
      profile(name, { resources: { nodes: 1, gpus: 1, gpuMemory: bytes(16_000 * 2 ** 20) } });
    const { snapshot: after } = turn(snapshot(wanting(big("a"), big("b"))), {
      nodes: new Map([heard("n1", { inventory: inventory(one) })]),
    });
    expect(after.replicas).toMatchObject([
      { id: "a-1", state: { kind: "placed" }, placement: { gpus: ["g0"] } },
      { id: "b-2", state: { kind: "pending", rejections: [{ node: "n1", filter: "gpus" }] } },
    ]);
  });

  test("B132 one that has failed gives its place to one that finds none; its reason stays, and it is not tried elsewhere", () => {
    const one = { gpus: [gpu("g0")] };
    const big = (name: string) => profile(name, { resources: { nodes: 1, gpus: 1 } });
    const nodes = new Map([heard("n1", { inventory: inventory(one) })]);
    const first = turn(snapshot(wanting(big("a"))), { nodes }).snapshot;
    const failed = { kind: "failed", reason: "no such flag", lastLines: ["last"] } as const;
    const broken = first.replicas.map((before) => ({ ...before, state: failed }));
    const both = wanting(big("a"), big("b"));
    const gave = turn({ ...first, ...both, replicas: broken }, { nodes });
    expect(gave.snapshot.replicas).toMatchObject([
      { id: "a-1", state: failed },
      { id: "b-1", state: { kind: "pending" } },
    ]);
    expect(gave.snapshot.replicas[0]?.placement).toBeUndefined();
    expect(gave.events.at(-1)).toMatchObject({
      reason: "ReplicaGaveWay",
      message: "a-1 has failed and gives its place on n1 to b-1, which found none",
    });
    const after = turn(gave.snapshot, { nodes }).snapshot;
    expect(after.replicas).toMatchObject([
      { id: "a-1", state: failed },
      { id: "b-1", state: { kind: "placed" }, placement: { gpus: ["g0"] } },
    ]);
    expect(turn({ ...after, profiles: wanting(big("b")).profiles }, { nodes }).snapshot.replicas).toMatchObject([
      { id: "b-1" },
    ]);
  });

  test("what has failed keeps its place while another finds one elsewhere", () => {
    const nodes = new Map(["n1", "n2"].map((id) => heard(id, { inventory: inventory({ gpus: [gpu(`${id}-g`)] }) })));
    const big = (name: string) => profile(name, { resources: { nodes: 1, gpus: 1 } });
    const first = turn(snapshot(wanting(big("a"))), { nodes }).snapshot;
    const failed = { kind: "failed", reason: "", lastLines: [] } as const;
    const broken = first.replicas.map((before) => ({ ...before, state: failed }));
    const after = turn({ ...first, ...wanting(big("a"), big("b")), replicas: broken }, { nodes }).snapshot;
    expect(after.replicas).toMatchObject([
      { state: failed, placement: { node: "n1" } },
      { state: { kind: "placed" }, placement: { node: "n2" } },
    ]);
  });

  test("a node's desired revision grows only when its own desired state changes, or the settings did", () => {
    const nodes = new Map([heard("n1"), heard("n2")]);
    const first = turn(snapshot(wanting(smol)), { nodes }).snapshot;
    expect(first.nodes.map(({ desiredRevision }) => desiredRevision)).toEqual([1, 1]);
    const two = { ...first, ...wanting(smol, profile("other")) };
    const second = turn(two, { nodes }).snapshot;
    expect(second.nodes.map(({ desiredRevision }) => desiredRevision).toSorted()).toEqual([1, 2]);
    const policy = { ...gathered(now).policy, engines: { "llama.cpp": { version: "b1", source: "github" } } };
    const third = turn(second, { nodes, isFirst: true, policy }).snapshot;
    expect(third.nodes.map(({ desiredRevision }) => desiredRevision).toSorted()).toEqual([2, 3]);
  });

  test("an old replica keeps its old spec until it is gone; then the spec is forgotten", () => {
    const changed = profile("smol", { context: 2048 });
    const old = replica("smol-0", smol, ready);
    const before = snapshot({
      profiles: [stored(changed)],
      specs: [storedSpec(smol), storedSpec(changed)],
      nodes: [storedNode("n1")],
      replicas: [old],
    });
    const { snapshot: during } = turn(before, { nodes: new Map([heard("n1")]) });
    expect(during.specs).toHaveLength(2);
    const { snapshot: after } = turn({ ...during, replicas: during.replicas.filter(({ id }) => id !== "smol-0") });
    expect(after.specs.map(({ spec }) => spec.context)).toEqual([2048]);
  });

  test("a crash of a ready engine is a warning", () => {
    const before = snapshot({
      ...wanting(smol),
      nodes: [storedNode("n1")],
      replicas: [replica("smol-0", smol, ready)],
    });
    const [was] = before.replicas;
    const observed: ObservedState = {
      revision: 1,
      replicas: was === undefined ? [] : [{ ...was, state: { kind: "starting", note: "again" }, restarts: 1, pid: 2 }],
    };
    const { events } = turn(before, { nodes: new Map([heard("n1", { observed })]) });
    expect(events).toMatchObject([
      { level: "warning", reason: "ReplicaStarting", message: "smol-0 is starting on n1: again" },
    ]);
  });

  test("a node that falls ill and heals is told of once each", () => {
    const before = snapshot({ nodes: [storedNode("n1")] });
    const ill = inventory({ hostname: "n1", problems: ["nvidia-smi fails"] });
    const sick = turn(before, { nodes: new Map([heard("n1", { inventory: ill })]) });
    expect(told(sick)).toEqual(["NodeDegraded n1"]);
    expect(told(turn(sick.snapshot, { nodes: new Map([heard("n1", { inventory: ill })]) }))).toEqual([]);
    expect(told(turn(sick.snapshot, { nodes: new Map([heard("n1")]) }))).toEqual(["NodeHealthy n1"]);
  });
});
