import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { facts, gpu, GiB, MiB, node, profile, ready, replica, offer } from "../../test/fakes/values.ts";
import { bytes, gpuUuid, nodeId, replicaId } from "../core/ids.ts";
import type { ClusterNode } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica } from "../core/replica-state.ts";
import { knownModel, needsAt } from "../engines/known-model.ts";
import { type Ask, askOf } from "./ask.ts";
import { nodeViews } from "./node-view.ts";
import { type Decision, place, placeAll } from "./place.ts";
import { DEFAULT_POLICY } from "./policies.ts";

const OFFER = offer("llama.cpp");

const asked = (of: Profile, nodes: readonly ClusterNode[]): Ask =>
  askOf(of, needsAt(of, knownModel(of.model.source, nodes, undefined)), OFFER);
const placed = (of: Profile, nodes: readonly ClusterNode[], replicas: readonly Replica[] = []): Decision =>
  place(asked(of, nodes), nodeViews(nodes, replicas), DEFAULT_POLICY);

const where = (decision: Decision): string => (decision.kind === "placed" ? decision.placement.node : "nowhere");
const reasons = (decision: Decision): readonly string[] =>
  decision.kind === "placed"
    ? []
    : decision.rejections.map(({ node, filter, reason }) => `${node} ${filter}: ${reason}`);

const smol = profile("smol");
const needs = (gpus: number, gpuMemory?: number): Profile =>
  profile("big", {
    resources: { nodes: 1, gpus, ...(gpuMemory === undefined ? {} : { gpuMemory: bytes(gpuMemory) }) },
  });
const held = (of: Profile, size: number) => ({
  weights: [{ source: of.model.source, path: "/w", bytes: bytes(size) }],
});

const joined = (id: string) =>
  ["0", "1"].map((own) =>
    gpu(`${id}${own}`, { links: [{ to: gpuUuid(`${id}${own === "0" ? "1" : "0"}`), kind: "nvlink", lanes: 4 }] }),
  );

describe("place: which node", () => {
  const onA = replica("smol-1", smol, ready, { on: "a" });
  test.each<{ name: string; of: Profile; nodes: readonly ClusterNode[]; replicas?: readonly Replica[]; want: string }>([
    { name: "a tie goes to the lower id, whatever the order", of: smol, nodes: [node("b"), node("a")], want: "a" },
    { name: "one that holds the weights", of: smol, nodes: [node("a"), node("b", held(smol, GiB))], want: "b" },
    { name: "another one than its sibling is on", of: smol, nodes: [node("a"), node("b")], replicas: [onA], want: "b" },
    {
      name: "another one than its sibling is on, although only that one holds the weights",
      of: smol,
      nodes: [node("a", held(smol, GiB)), node("b")],
      replicas: [onA],
      want: "b",
    },
    {
      name: "one whose sibling is on its way out as well as any other",
      of: smol,
      nodes: [node("a"), node("b", { memoryAvailable: bytes(30 * GiB) })],
      replicas: [replica("smol-1", smol, { kind: "stopping", why: "" }, { on: "b" })],
      want: "b",
    },
    {
      name: "of a small model the fuller one before one that holds it already",
      of: smol,
      nodes: [
        node("a", held(smol, 100 * MiB)),
        node("b", { memoryAvailable: bytes(20 * GiB), disks: [{ path: "/w", total: bytes(GiB), free: bytes(GiB) }] }),
      ],
      want: "b",
    },
    {
      name: "several GPUs that are linked before several that are not",
      of: needs(2),
      nodes: [node("a", { gpus: [gpu("a0"), gpu("a1")] }), node("b", { gpus: joined("b") })],
      want: "b",
    },
    {
      name: "the fuller one",
      of: smol,
      nodes: [node("a"), node("b", { memoryAvailable: bytes(30 * GiB) })],
      want: "b",
    },
    {
      name: "one with a free GPU when GPUs are left open",
      of: smol,
      nodes: [node("a"), node("b", { gpus: [gpu("g")] })],
      want: "b",
    },
    {
      name: "the CPU when GPUs are left open and none is free",
      of: smol,
      nodes: [node("a", { gpus: [gpu("g", { memoryFree: bytes(0) })] })],
      want: "a",
    },
    {
      name: "the CPU of an empty node when the only GPU is sick",
      of: smol,
      nodes: [node("a", { gpus: [gpu("g", { problem: "it has fallen off the bus" })] })],
      want: "a",
    },
  ])("$name", ({ of, nodes, replicas, want }) => {
    expect(where(placed(of, nodes, replicas))).toBe(want);
  });
});

describe("place: why not", () => {
  const gpuNode = node("a", {
    gpus: [gpu("g0", { problem: "ECC errors" }), gpu("g1", { index: 1, memoryFree: bytes(4000 * MiB) })],
  });
  test.each<{
    name: string;
    of: Profile;
    nodes: readonly ClusterNode[];
    replicas?: readonly Replica[];
    want: readonly string[];
  }>([
    {
      name: "silent nodes",
      of: smol,
      nodes: [node("a", {}, { liveness: "unreachable" }), node("b", {}, { liveness: "lost" })],
      want: ["a alive: is unreachable: its agent is silent", "b alive: is lost: its agent is silent"],
    },
    {
      name: "a cordon",
      of: smol,
      nodes: [node("a", {}, { cordoned: true })],
      want: ["a cordoned: is cordoned: open it with `llmgw ctl uncordon`"],
    },
    {
      name: "labels",
      of: profile("p", { nodeSelector: { rack: "r12" } }),
      nodes: [node("a"), node("b", { labels: { rack: "r1" } })],
      want: [
        "a selector: has no label rack; node_selector wants rack: r12",
        "b selector: has the label rack: r1; node_selector wants r12",
      ],
    },
    {
      name: "a label that every object has",
      of: profile("p", { nodeSelector: { constructor: "x" } }),
      nodes: [node("a")],
      want: ["a selector: has no label constructor; node_selector wants constructor: x"],
    },
    {
      name: "no such engine",
      of: profile("p", { engine: "vllm" }),
      nodes: [node("a")],
      want: ["a engine: has no vllm, and server.yaml names none to install (engines:)"],
    },
    {
      name: "a model that the profile cuts in uneven parts, as is known since a node holds it",
      of: profile("p", { parallel: { tensor: 3, pipeline: 1 }, resources: { nodes: 1, gpus: 3 }, engine: "vllm" }),
      nodes: [
        node("a", {
          weights: [
            {
              source: profile("p").model.source,
              path: "/w",
              bytes: bytes(GiB),
              facts: facts({ format: "safetensors" }),
            },
          ],
        }),
      ],
      want: [
        "a split: could not run it: p: the model has 32 attention heads, which 3 GPUs cannot share evenly; " +
          "set parallel.tensor to 2 or 4",
      ],
    },
    { name: "no GPUs", of: needs(1), nodes: [node("a")], want: ["a gpus: needs 1 GPU to itself, has none"] },
    {
      name: "GPUs that are sick or in use",
      of: needs(2, 20_000 * MiB),
      nodes: [gpuNode],
      want: [
        "a gpus: needs 2 GPUs with 20 GiB free, has 0 of 2: GPU 0 (L40S): ECC errors; " +
          "GPU 1 (L40S) can give 3.9 GiB of 23 GiB, 20 GiB in use",
      ],
    },
    {
      name: "memory",
      of: profile("p", { resources: { nodes: 1, memory: bytes(32 * GiB) } }),
      nodes: [node("a")],
      replicas: [
        replica("q", profile("q"), ready, {
          on: "a",
          placement: { node: nodeId("a"), gpus: [], memory: bytes(40 * GiB), gpuMemory: bytes(0) },
        }),
      ],
      want: ["a memory: insufficient memory: needs 32 GiB, can give 24 GiB of 64 GiB (4.0 GiB in use, 40 GiB booked)"],
    },
    {
      name: "room on a disk that weights are only found on",
      of: smol,
      nodes: [
        node("a", {
          disks: [
            { path: "/w", total: bytes(GiB), free: bytes(MiB) },
            { path: "/lustre", total: bytes(900 * GiB), free: bytes(900 * GiB) },
          ],
        }),
        node("b", held(smol, GiB), { cordoned: true }),
      ],
      want: [
        "a disk: needs 1.0 GiB of disk for the weights, has 1.0 MiB free (/w)",
        "b cordoned: is cordoned: open it with `llmgw ctl uncordon`",
      ],
    },
    {
      name: "disk",
      of: smol,
      nodes: [
        node("a", { disks: [{ path: "/w", total: bytes(GiB), free: bytes(MiB) }] }),
        node("b", held(smol, GiB), { cordoned: true }),
      ],
      want: [
        "a disk: needs 1.0 GiB of disk for the weights, has 1.0 MiB free (/w)",
        "b cordoned: is cordoned: open it with `llmgw ctl uncordon`",
      ],
    },
  ])("$name", ({ of, nodes, replicas, want }) => {
    expect(reasons(placed(of, nodes, replicas))).toEqual(want);
  });
});

describe("place: which GPUs and how much", () => {
  const two = node("a", { gpus: [gpu("g1"), gpu("g0")] });
  test.each<{ name: string; of: Profile; on: ClusterNode; replicas?: readonly Replica[]; want: object }>([
    { name: "by number, whole", of: needs(1), on: two, want: { gpus: ["g0"], gpuMemory: 24_000 * MiB } },
    { name: "by memory, that much", of: needs(2, 1000), on: two, want: { gpus: ["g0", "g1"], gpuMemory: 1000 } },
    {
      name: "left open, size known: the estimate",
      of: smol,
      on: node("a", { ...held(smol, 10 * GiB), gpus: [gpu("g0")] }),
      want: { gpus: ["g0"], gpuMemory: 12.5 * GiB, memory: 1174 * MiB },
    },
    {
      name: "left open, size unknown: a whole one",
      of: smol,
      on: two,
      want: { gpus: ["g0"], gpuMemory: 24_000 * MiB },
    },
    {
      name: "no GPU, size known: the estimate in host memory",
      of: smol,
      on: node("a", held(smol, 10 * GiB)),
      want: { gpus: [], memory: 12.5 * GiB, gpuMemory: 0 },
    },
    { name: "no GPU, size unknown", of: smol, on: node("a"), want: { gpus: [], memory: GiB, gpuMemory: 0 } },
    {
      name: "unified memory, whole: all that the host can give",
      of: smol,
      on: node("a", { gpus: [gpu("g0", { unified: true, memoryTotal: bytes(0), memoryFree: bytes(0) })] }),
      want: { gpus: ["g0"], memory: GiB, gpuMemory: 59 * GiB },
    },
  ])("$name", ({ of, on, replicas, want }) => {
    expect(placed(of, [on], replicas)).toMatchObject({ kind: "placed", placement: want });
  });

  test("B131 memory used by other programs is not given, our own is not counted twice", () => {
    const gpus = [
      gpu("g0", { memoryTotal: bytes(81_559 * MiB), memoryFree: bytes(559 * MiB) }),
      gpu("g1", { memoryTotal: bytes(81_559 * MiB), memoryFree: bytes(81_059 * MiB) }),
    ];
    const chosen = placed(needs(1, 20_000 * MiB), [node("a", { gpus })]);
    expect(chosen).toMatchObject({ placement: { gpus: ["g1"] } });
    // Ours runs there and is measured: what is left is the rest, once.
    const own = replica("own", smol, ready, {
      placement: { node: nodeId("a"), gpus: [gpuUuid("g0")], memory: bytes(0), gpuMemory: bytes(60_000 * MiB) },
    });
    const measured = [gpu("g0", { memoryTotal: bytes(81_559 * MiB), memoryFree: bytes(21_559 * MiB) })];
    expect(placed(needs(1, 21_000 * MiB), [node("a", { gpus: measured })], [own]).kind).toBe("placed");
    expect(placed(needs(1, 22_000 * MiB), [node("a", { gpus: measured })], [own]).kind).toBe("unplaceable");
  });

  test("B131 what is booked but not running yet comes on top of what strangers use", () => {
    const own = replica(
      "own",
      smol,
      { kind: "placed" },
      {
        placement: { node: nodeId("a"), gpus: [gpuUuid("g0")], memory: bytes(0), gpuMemory: bytes(10_000 * MiB) },
      },
    );
    const strangers = [gpu("g0", { memoryFree: bytes(14_000 * MiB) })];
    expect(placed(needs(1, 5_000 * MiB), [node("a", { gpus: strangers })], [own]).kind).toBe("unplaceable");
  });

  test("B132 two at once: the second sees what the first was given", () => {
    const nodes = [node("a", { gpus: [gpu("g0")] })];
    const ask = asked(needs(1, 16_000 * MiB), nodes);
    const pending = ["r1", "r2"].map((id) => ({ id: replicaId(id), ask }));
    const decisions = [...placeAll(pending, nodeViews(nodes, []), DEFAULT_POLICY).values()];
    expect(decisions.map(({ kind }) => kind)).toEqual(["placed", "unplaceable"]);
  });

  test.each(["failed", "lost", "stopped"] as const)("B132 a replica that is %s: its booking", (kind) => {
    const states = {
      failed: { kind: "failed", reason: "", lastLines: [] },
      lost: { kind: "lost", reason: "" },
      stopped: { kind: "stopped" },
    } as const;
    const before = replica("r", smol, states[kind], {
      placement: { node: nodeId("a"), gpus: [gpuUuid("g0")], memory: bytes(0), gpuMemory: bytes(24_000 * MiB) },
    });
    const again = placed(needs(1), [node("a", { gpus: [gpu("g0")] })], [before]);
    // A failed one keeps its place until its profile changes.
    expect(again.kind).toBe(kind === "failed" ? "unplaceable" : "placed");
  });
});

const anyNode = fc
  .record({
    id: fc.nat({ max: 5 }),
    gpus: fc.array(fc.record({ used: fc.nat({ max: 24 }), sick: fc.boolean() }), { maxLength: 4 }),
    memoryUsed: fc.nat({ max: 64 }),
    cordoned: fc.boolean(),
  })
  .map(({ id, gpus, memoryUsed, cordoned }) =>
    node(
      `n${String(id)}`,
      {
        memoryAvailable: bytes((64 - memoryUsed) * GiB),
        gpus: gpus.map(({ used, sick }, index) =>
          gpu(`n${String(id)}-g${String(index)}`, {
            index,
            memoryTotal: bytes(24 * GiB),
            memoryFree: bytes((24 - used) * GiB),
            problem: sick ? "sick" : undefined,
          }),
        ),
      },
      { cordoned },
    ),
  );
const anyProfile = fc
  .record({
    name: fc.constantFrom("p", "q"),
    gpus: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
    gpuMemory: fc.option(fc.integer({ min: 1, max: 24 }), { nil: undefined }),
    memory: fc.option(fc.integer({ min: 1, max: 64 }), { nil: undefined }),
  })
  .map(({ name, gpus, gpuMemory, memory }) =>
    profile(name, {
      resources: {
        nodes: 1,
        ...(gpus === undefined ? {} : { gpus }),
        ...(gpuMemory === undefined ? {} : { gpuMemory: bytes(gpuMemory * GiB) }),
        ...(memory === undefined ? {} : { memory: bytes(memory * GiB) }),
      },
    }),
  );

test("whatever is asked of whatever nodes: nothing is given twice, and every no has its reasons", () => {
  const cluster = fc.uniqueArray(anyNode, { selector: ({ id }) => id, minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(cluster, fc.array(anyProfile, { maxLength: 12 }), (nodes, profiles) => {
      const pending = profiles.map((of, index) => ({
        id: replicaId(`r${String(index)}`),
        ask: asked(of, nodes),
      }));
      const decisions = placeAll(pending, nodeViews(nodes, []), DEFAULT_POLICY);
      expect(placeAll(pending, nodeViews(nodes.toReversed(), []), DEFAULT_POLICY)).toEqual(decisions);
      const given = [...decisions.values()].flatMap((d) => (d.kind === "placed" ? [d.placement] : []));
      for (const { id, inventory, cordoned } of nodes) {
        const here = given.filter((placement) => placement.node === id);
        if (cordoned) expect(here).toEqual([]);
        expect(here.reduce((sum, { memory }) => sum + memory, 0)).toBeLessThanOrEqual(inventory.memoryAvailable);
        for (const { uuid, memoryTotal, problem } of inventory.gpus) {
          const onIt = here.filter(({ gpus }) => gpus.includes(uuid));
          if (problem !== undefined) expect(onIt).toEqual([]);
          expect(onIt.reduce((sum, { gpuMemory }) => sum + gpuMemory, 0)).toBeLessThanOrEqual(memoryTotal);
        }
      }
      for (const decision of decisions.values()) {
        if (decision.kind === "placed") continue;
        expect(decision.rejections.map(({ node: id }) => id)).toEqual(nodes.map(({ id }) => id).toSorted());
        expect(decision.rejections.every(({ reason }) => reason.length > 10)).toBe(true);
      }
    }),
  );
});

test("every rule has a sentence of its own and a name of its own", () => {
  const rules = [...DEFAULT_POLICY.filters, ...DEFAULT_POLICY.scorers];
  expect(new Set(rules.map(({ name }) => name)).size).toBe(rules.length);
  for (const { doc } of rules) expect(doc).toMatch(/^[A-Z].*\.$/);
});
