import { describe, expect, test } from "vitest";
import { profile, ready, replica } from "../../test/fakes/values.ts";
import { bytes, millis, replicaId } from "../core/ids.ts";
import type { Replica, ReplicaState } from "../core/replica-state.ts";
import { llamacpp } from "../engines/llamacpp/index.ts";
import type { Snapshot } from "../store/store.ts";
import { goneSince, modelRoutes, nextTable } from "./routes.ts";
import { snapshot, stored, storedNode } from "../../test/fakes/snapshots.ts";

const smol = profile("smol", { serves: ["smol", "default"] });

const routes = (replicas: readonly Replica[], more: Partial<Snapshot> = {}) =>
  modelRoutes(snapshot({ profiles: [stored(smol)], replicas, nodes: [storedNode("n1")], ...more }), new Map());

test("every name leads to the ready replicas, with their keys; names are sorted", () => {
  const models = routes([replica("a", smol, ready), replica("b", smol, { kind: "starting", note: "" })]);
  expect(models.map(({ name }) => name)).toEqual(["default", "smol"]);
  expect(models[0]).toEqual({
    name: "default",
    profile: "smol",
    replicas: [{ id: "a", host: "10.0.0.1", port: 41_000, apiKey: "key-of-a", slots: 4, apis: llamacpp.apis }],
    created: 100,
    waitingFor: "",
    waitSeconds: 0,
  });
});

test("B114 one replica that is not there keeps nobody from the others", () => {
  const failed: ReplicaState = { kind: "failed", reason: "no", lastLines: [] };
  const [model] = routes([replica("a", smol, failed), replica("b", smol, ready)]);
  expect(model?.replicas.map(({ id }) => id)).toEqual(["b"]);
});

test("B48 a replica on an unreachable node stays in the routes", () => {
  const nodes = [storedNode("n1", { liveness: "unreachable" })];
  expect(routes([replica("a", smol, ready)], { nodes })[0]?.replicas).toHaveLength(1);
});

describe("what a model without a ready replica waits for", () => {
  const preparing: ReplicaState = {
    kind: "preparing",
    progress: { what: "fetching m.gguf", bytesDone: bytes(250), bytesTotal: bytes(1000), bytesPerSecond: 10 },
  };
  test.each<{ name: string; replicas: readonly Replica[]; nodes?: Snapshot["nodes"]; want: string; seconds: number }>([
    { name: "no node", replicas: [], nodes: [], want: "no node has joined yet", seconds: 0 },
    { name: "none asked for", replicas: [], want: "the profile asks for no replicas", seconds: 0 },
    {
      name: "a fetch, with percent and seconds",
      replicas: [replica("a", smol, preparing)],
      want: "a is preparing: fetching m.gguf: 25% of 1000 B, 10 B/s, 1m15s left",
      seconds: 75,
    },
    {
      name: "the most hopeful of several",
      replicas: [replica("a", smol, { kind: "failed", reason: "no", lastLines: [] }), replica("b", smol, preparing)],
      want: "b is preparing: fetching m.gguf: 25% of 1000 B, 10 B/s, 1m15s left",
      seconds: 75,
    },
    {
      name: "a failure, without the engine's key",
      replicas: [replica("a", smol, { kind: "failed", reason: "bad option key-of-a", lastLines: [] })],
      want: "a is failed: bad option [its key]",
      seconds: 0,
    },
  ])("$name", ({ replicas, nodes, want, seconds }) => {
    const [model] = routes(replicas, nodes === undefined ? {} : { nodes });
    expect(model).toMatchObject({ replicas: [], waitingFor: want, waitSeconds: seconds });
  });
});

describe("a model that follows its load", () => {
  const demand = { wanted: 0, load: 0, isFirst: true, since: millis(0), peaks: [] };
  const demands = new Map([[smol.name, demand]]);
  const asRouted = (replicas: readonly Replica[], nodes = [storedNode("n1")]) =>
    modelRoutes(snapshot({ profiles: [stored(smol)], replicas, nodes }), demands)[0];
  const failed: ReplicaState = { kind: "failed", reason: "no", lastLines: [] };
  const draining: ReplicaState = { kind: "draining", endpoint: undefined, slots: 1, deadline: millis(9), why: "" };
  const zero = "it is scaled to 0, and a request starts a replica";
  test.each<{ name: string; replicas: readonly Replica[]; holds: boolean | undefined; says: string }>([
    { name: "at zero", replicas: [], holds: true, says: zero },
    { name: "on its way to zero", replicas: [replica("a", smol, draining)], holds: true, says: zero },
    {
      name: "starting",
      replicas: [replica("a", smol, { kind: "starting", note: "" })],
      holds: true,
      says: "a is starting: the engine is starting and loading the model",
    },
    { name: "serving", replicas: [replica("a", smol, ready)], holds: undefined, says: "" },
    { name: "given up on", replicas: [replica("a", smol, failed)], holds: undefined, says: "a is failed: no" },
  ])("that is $name", ({ replicas, holds, says }) => {
    const route = asRouted(replicas);
    expect([route?.holds, route?.waitingFor]).toEqual([holds, says]);
  });

  test("holds nothing where no node could start one", () => {
    expect(asRouted([], [])).toMatchObject({ waitingFor: "no node has joined yet" });
    expect(asRouted([], [])?.holds).toBeUndefined();
  });
});

test("a table gets a new number only when something in it differs", () => {
  const first = nextTable({ revision: 7, models: [] }, routes([replica("a", smol, ready)]), "c");
  expect(first.revision).toBe(8);
  expect(nextTable(first, routes([replica("a", smol, ready)]), "c")).toBe(first);
});

test("since when a draining replica is out of the table is remembered until it is gone", () => {
  const draining: ReplicaState = { kind: "draining", endpoint: undefined, slots: 1, deadline: millis(9), why: "" };
  const replicas = [replica("a", smol, draining), replica("b", smol, ready)];
  const first = goneSince(new Map(), replicas, { revision: 8, models: [] });
  expect([...first]).toEqual([["a", 8]]);
  expect([...goneSince(first, replicas, { revision: 9, models: [] })]).toEqual([["a", 8]]);
  expect([...goneSince(new Map([[replicaId("a"), 8]]), [], { revision: 9, models: [] })]).toEqual([]);
});
