import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GiB, gpu, node, offer, profile, ready, replica } from "../../test/fakes/values.ts";
import { bytes, replicaId } from "../core/ids.ts";
import type { ClusterNode, EngineBuild, Fabric } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import { type Replica, sharesOf } from "../core/replica-state.ts";
import { knownModel, needsAt } from "../engines/known-model.ts";
import { type Ask, askOf, type EngineOffer } from "./ask.ts";
import { explain } from "./explain.ts";
import { nodeViews } from "./node-view.ts";
import { type Decision, place, placeAll, weightedScore } from "./place.ts";
import { DEFAULT_POLICY } from "./policies.ts";
import { remedyInWords } from "./remedy.ts";

const fabric = (name: string, problem?: string): Fabric => ({ name, hcas: [], rateGbps: 200, ports: [], problem });
const gpus = (of: string, count: number) =>
  Array.from({ length: count }, (_, index) => gpu(`${of}-g${String(index)}`, { index }));
const vllm = (version: string, origin: EngineBuild["origin"] = "configured"): EngineBuild => ({
  ...{ name: "vllm", version, origin, path: "/opt/vllm", devices: [] },
});
const rank = (id: string, on: readonly Fabric[], count = 4, more: Partial<ClusterNode["inventory"]> = {}) =>
  node(id, { fabrics: on, gpus: gpus(id, count), ...more });

const A = fabric("ib-a");
const B = fabric("ib-b");
const OFFER: EngineOffer = offer("vllm", "sglang");
const spanning = (nodes: number, count = 4, more: Partial<Profile> = {}): Profile =>
  profile("big", {
    engine: "vllm",
    resources: { nodes, gpus: count },
    parallel: { tensor: nodes * count, pipeline: 1 },
    ...more,
  });

const asked = (of: Profile, nodes: readonly ClusterNode[], from = OFFER): Ask =>
  askOf(of, needsAt(of, knownModel(of.model.source, nodes, undefined)), from);
const placed = (of: Profile, nodes: readonly ClusterNode[], replicas: readonly Replica[] = []): Decision =>
  place(asked(of, nodes), nodeViews(nodes, replicas), DEFAULT_POLICY);
const where = (decision: Decision): string => {
  if (decision.kind === "unplaceable") return "nowhere";
  const names = sharesOf(decision.placement).map(({ node: on }) => on);
  return `${decision.placement.gang?.fabric ?? ""}: ${names.join(" ")}`;
};

describe("the nodes of a replica that spans several", () => {
  const held = { weights: [{ source: profile("big").model.source, path: "/w", bytes: bytes(GiB) }] };
  test.each<{ name: string; of?: Profile; nodes: readonly ClusterNode[]; want: string }>([
    { name: "two of one fabric", nodes: [rank("b", [A]), rank("a", [A])], want: "ib-a: a b" },
    { name: "never across fabrics", nodes: [rank("a", [A]), rank("b", [B])], want: "nowhere" },
    { name: "never one without a fabric", nodes: [rank("a", [A]), rank("b", [])], want: "nowhere" },
    {
      name: "never one whose fabric is not as it should be",
      nodes: [rank("a", [A]), rank("b", [fabric("ib-a", "mlx5_0 is DOWN")])],
      want: "nowhere",
    },
    { name: "never one with fewer GPUs free", nodes: [rank("a", [A]), rank("b", [A], 3)], want: "nowhere" },
    {
      name: "the second fabric of a node that is on two",
      nodes: [rank("a", [A, B]), rank("b", [B])],
      want: "ib-b: a b",
    },
    {
      name: "those that hold the weights",
      nodes: [rank("a", [A]), rank("b", [A], 4, held), rank("c", [A], 4, held)],
      want: "ib-a: b c",
    },
    {
      name: "the small fabric, so that the large one stays whole",
      nodes: [rank("a", [A]), rank("b", [A]), rank("c", [A]), rank("d", [B]), rank("e", [B])],
      want: "ib-b: d e",
    },
    {
      name: "those with the same build, where agents name their own",
      nodes: [
        rank("a", [A], 4, { engines: [vllm("0.32.0")] }),
        rank("b", [A], 4, { engines: [vllm("0.33.0")] }),
        rank("c", [A], 4, { engines: [vllm("0.33.0")] }),
      ],
      want: "ib-a: b c",
    },
    {
      name: "with engine auto, an engine that can span nodes",
      of: spanning(2, 4, { engine: "auto" }),
      nodes: [rank("a", [A]), rank("b", [A])],
      want: "ib-a: a b",
    },
  ])("$name", ({ of = spanning(2), nodes, want }) => {
    expect(where(placed(of, nodes))).toBe(want);
  });

  test("each rank has its GPUs, the same number on each, and all ranks the same engine", () => {
    const decision = placed(spanning(2, 2), [rank("a", [A]), rank("b", [A])]);
    if (decision.kind !== "placed") throw new Error("not placed");
    expect(sharesOf(decision.placement).map((share) => share.gpus)).toEqual([
      ["a-g0", "a-g1"],
      ["b-g0", "b-g1"],
    ]);
    expect(decision.placement.gang).toMatchObject({ fabric: "ib-a", engine: "vllm" });
  });

  test("the version that the operator names makes builds that lie about no obstacle", () => {
    const named = { ...OFFER, engines: { vllm: { version: "0.33.0" } } };
    const nodes = [rank("a", [A], 4, { engines: [vllm("0.31.0", "path")] }), rank("b", [A])];
    const decision = place(asked(spanning(2), nodes, named), nodeViews(nodes, []), DEFAULT_POLICY);
    expect(where(decision)).toBe("ib-a: a b");
  });

  test("the GPUs of every rank are booked", () => {
    const nodes = [rank("a", [A]), rank("b", [A]), rank("c", [A])];
    const first = placed(spanning(2), nodes);
    if (first.kind !== "placed") throw new Error("not placed");
    const running = replica("big-1", spanning(2), ready, { placement: first.placement });
    expect(where(placed(spanning(2), nodes, [running]))).toBe("nowhere");
    const ask = asked(spanning(2), nodes);
    const both = placeAll(
      ["big-1", "big-2"].map((id) => ({ id: replicaId(id), ask })),
      nodeViews(nodes, []),
      DEFAULT_POLICY,
    );
    expect([...both.values()].map(({ kind }) => kind)).toEqual(["placed", "unplaceable"]);
  });
});

describe("why a replica that spans nodes has no place", () => {
  const why = (nodes: readonly ClusterNode[], of = spanning(2)): readonly string[] => {
    const decision = placed(of, nodes);
    return decision.kind === "placed" ? [] : decision.rejections.map((no) => `${no.node} ${no.filter}: ${no.reason}`);
  };
  test.each<{ name: string; nodes: readonly ClusterNode[]; want: readonly string[] }>([
    {
      name: "a node too few of the fabric",
      nodes: [rank("a", [A]), rank("b", [B]), rank("c", [])],
      want: [
        "a island: fabric ib-a has 1 node with 4 free GPUs, 2 are needed",
        "b island: fabric ib-b has 1 node with 4 free GPUs, 2 are needed",
        "c fabric: is on no fabric, and a replica over several nodes stays within one",
      ],
    },
    {
      name: "a fabric that is not as it should be",
      nodes: [rank("a", [fabric("ib-a", "mlx5_0 port 1 is DOWN")])],
      want: ["a fabric: fabric ib-a: mlx5_0 port 1 is DOWN"],
    },
    {
      name: "different builds",
      nodes: [rank("a", [A], 4, { engines: [vllm("0.32.0")] }), rank("b", [A], 4, { engines: [vllm("0.33.0")] })],
      want: ["a", "b"].map(
        (id) =>
          `${id} island: fabric ib-a has 2 nodes with 4 free GPUs, but not 2 with the same build of an engine: ` +
          "vllm 0.32.0 on a, vllm 0.33.0 on b",
      ),
    },
  ])("$name", ({ nodes, want }) => {
    expect(why(nodes)).toEqual(want);
  });

  test("and the smallest change that would give it one", () => {
    const nodes = [rank("a", [A]), rank("b", []), rank("c", [fabric("ib-a", "mlx5_0 is DOWN")])];
    const answers = explain(asked(spanning(2), nodes), nodeViews(nodes, []), DEFAULT_POLICY);
    expect(
      answers.map(({ node: on, refusals }) => [on, ...refusals.flatMap((no) => no.remedies.map(remedyInWords))]),
    ).toEqual([
      ["a", "make room on 1 more node of fabric ib-a"],
      ["b", "name its fabric in its agent.yaml (fabrics:), if it is on one"],
      ["c", "mend its ports on fabric ib-a"],
    ]);
  });
});

const SOURCE = profile("big").model.source;
const anyNode = fc
  .record({
    id: fc.nat({ max: 7 }),
    fabrics: fc.uniqueArray(fc.constantFrom("ib-a", "ib-b"), { maxLength: 2 }),
    down: fc.integer({ min: 0, max: 4 }),
    free: fc.nat({ max: 4 }),
    memory: fc.integer({ min: 1, max: 60 }),
    build: fc.constantFrom([], [vllm("0.32.0")], [vllm("0.33.0")], [vllm("0.33.0", "installed")]),
    holds: fc.boolean(),
    cordoned: fc.nat({ max: 5 }),
  })
  .map(({ id, fabrics, down, free, memory, build, holds, cordoned }) => ({
    ...rank(
      `n${String(id)}`,
      fabrics.map((name) => fabric(name, down === 0 ? "DOWN" : undefined)),
      free,
      {
        memoryAvailable: bytes(memory * GiB),
        engines: build,
        weights: holds ? [{ source: SOURCE, path: "/w", bytes: bytes(GiB) }] : [],
      },
    ),
    cordoned: cordoned === 0,
  }));

/** Every way to choose so many of them. */
function choices<T>(all: readonly T[], count: number): readonly (readonly T[])[] {
  const [first, ...rest] = all;
  if (count === 0) return [[]];
  if (first === undefined) return [];
  return [...choices(rest, count - 1).map((others) => [first, ...others]), ...choices(rest, count)];
}

/** The highest score of any set of nodes that may be a gang, by trying every one; undefined: there is none. */
function bruteForce(ask: Ask, nodes: readonly ClusterNode[]): number | undefined {
  const views = nodeViews(nodes, []);
  const able = views.filter((view) => DEFAULT_POLICY.filters.every((filter) => filter.check(view, ask) === undefined));
  const version = ({ inventory: { engines } }: ClusterNode): string => engines[0]?.version ?? "";
  const sets = ["ib-a", "ib-b"].flatMap((name) => {
    const on = able.filter(({ node: { inventory } }) =>
      inventory.fabrics.some((one) => one.name === name && one.problem === undefined),
    );
    return choices(on, ask.nodes)
      .filter((set) => new Set(set.map(({ node: one }) => version(one))).size === 1)
      .map((set) => {
        const mean = set.reduce((sum, view) => sum + weightedScore(view, ask, DEFAULT_POLICY.scorers), 0) / ask.nodes;
        const [first] = set;
        const same = on.filter(({ node: one }) => first !== undefined && version(one) === version(first.node)).length;
        return mean + 1 / (1 + same - ask.nodes);
      });
  });
  return sets.length === 0 ? undefined : Math.max(...sets);
}

test("the best gang of a small cluster is the one that trying everything finds, and it is never across fabrics or builds", () => {
  const cluster = fc.uniqueArray(anyNode, { selector: ({ id }) => id, minLength: 1, maxLength: 7 });
  fc.assert(
    fc.property(cluster, fc.integer({ min: 2, max: 3 }), fc.integer({ min: 1, max: 4 }), (nodes, span, count) => {
      const of = spanning(span, count);
      const ask = asked(of, nodes);
      const decision = place(ask, nodeViews(nodes, []), DEFAULT_POLICY);
      const best = bruteForce(ask, nodes);
      if (decision.kind === "unplaceable") {
        expect(best).toBeUndefined();
        expect(decision.rejections.map((no) => no.node)).toEqual(nodes.map(({ id }) => id).toSorted());
        return;
      }
      expect(decision.score).toBeCloseTo(best ?? Number.NaN, 9);
      const { gang } = decision.placement;
      const shares = sharesOf(decision.placement);
      const chosen = nodes.filter(({ id }) => shares.some((share) => share.node === id));
      expect(chosen).toHaveLength(span);
      for (const { inventory } of chosen) {
        expect(inventory.fabrics.find(({ name }) => name === gang?.fabric)?.problem).toBeUndefined();
        expect(inventory.fabrics.map(({ name }) => name)).toContain(gang?.fabric);
      }
      expect(new Set(chosen.map(({ inventory }) => inventory.engines[0]?.version ?? "")).size).toBe(1);
      expect(shares.every((share) => share.gpus.length === count)).toBe(true);
      expect(place(ask, nodeViews(nodes.toReversed(), []), DEFAULT_POLICY)).toEqual(decision);
    }),
    { numRuns: 1000 },
  );
});
