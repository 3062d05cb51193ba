import fc from "fast-check";
import { expect, test } from "vitest";
import { facts, GiB, gpu, MiB, node, profile, offer } from "../../test/fakes/values.ts";
import { bytes, replicaId } from "../core/ids.ts";
import type { ClusterNode, Gpu } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import { knownModel, needsAt } from "../engines/known-model.ts";
import { type Ask, askOf } from "./ask.ts";
import { nodeViews, withBooking } from "./node-view.ts";
import { place, placeAll } from "./place.ts";
import { DEFAULT_POLICY } from "./policies.ts";

/** Every way to take some of the things. */
const subsets = <T>(all: readonly T[]): readonly (readonly T[])[] =>
  all.reduce<readonly (readonly T[])[]>((sets, one) => [...sets, ...sets.map((set) => [...set, one])], [[]]);

interface Best {
  readonly node: string;
  /** 0: the CPU. */
  readonly gpus: number;
  readonly score: number;
}

/** The fewest GPUs of the node that do, by trying every set of them; undefined: none, and the CPU will not do either. */
function fewestGpus(ask: Ask, { inventory }: ClusterNode): number | undefined {
  const canGive = ({ problem, memoryFree, memoryTotal }: Gpu, memory: number | "whole"): boolean =>
    problem === undefined && (memory === "whole" ? memoryFree >= memoryTotal * 0.8 : memoryFree >= memory);
  const sizes = subsets(inventory.gpus).flatMap((set) =>
    ask.gpus.choices
      .filter(({ count, memory }) => count === set.length && set.every((one) => canGive(one, memory)))
      .map(({ count }) => count),
  );
  const fewest = sizes.length > 0 ? Math.min(...sizes) : ask.gpus.required ? undefined : 0;
  if (fewest === undefined) return undefined;
  const host = fewest === 0 ? ask.memory.onCpu : ask.memory.onGpu;
  return host <= inventory.memoryAvailable ? fewest : undefined;
}

/** Of the GPUs together, or of the host. */
function fullness({ gpus, memoryAvailable, memoryTotal }: ClusterNode["inventory"], onGpus: boolean): number {
  if (!onGpus) return 1 - memoryAvailable / memoryTotal;
  return 1 - gpus.reduce((sum, one) => sum + one.memoryFree, 0) / gpus.reduce((sum, one) => sum + one.memoryTotal, 0);
}

const nearness = ({ weights }: Ask): number => (weights === undefined ? 0 : (4 * GiB) / (4 * GiB + weights));

/** Nobody knows how these GPUs are linked: four and a half of six steps apart. */
const onGpus = (count: number): number => (count > 0 ? 8 : 0) + (count > 1 ? 3 * (1 - 4.5 / 6) : 0);

/** The best node by looking at each of them, with the weights of the scorers written out. */
function bruteForce(ask: Ask, nodes: readonly ClusterNode[]): Best | undefined {
  const able = nodes.flatMap((on): readonly Best[] => {
    const { inventory } = on;
    const isHeld = inventory.weights.some(({ source }) => source === ask.source);
    const hasRoom =
      isHeld || ask.weights === undefined || inventory.disks.some(({ free }) => free >= (ask.weights ?? 0));
    const isLabelled = Object.entries(ask.nodeSelector).every(([label, value]) => inventory.labels[label] === value);
    const gpus = fewestGpus(ask, on);
    if (on.liveness !== "connected" || on.cordoned || !hasRoom || !isLabelled || gpus === undefined) return [];
    const near = isHeld ? 1 : nearness(ask);
    const score = onGpus(gpus) + 4 + 1.5 * near + 0.5 * fullness(inventory, gpus > 0);
    return [{ node: on.id, gpus, score }];
  });
  return able.toSorted((a, b) => b.score - a.score || (a.node < b.node ? -1 : 1))[0];
}

const SOURCE = profile("p").model.source;

const anyNode = fc
  .record({
    id: fc.nat({ max: 6 }),
    gpus: fc.array(fc.record({ free: fc.nat({ max: 24 }), sick: fc.boolean() }), { maxLength: 5 }),
    memory: fc.nat({ max: 16 }),
    disk: fc.nat({ max: 40 }),
    holds: fc.boolean(),
    rack: fc.constantFrom("r1", "r2"),
    state: fc.constantFrom({}, {}, {}, { cordoned: true }, { liveness: "lost" as const }),
  })
  .map(({ id, gpus, memory, disk, holds, rack, state }) =>
    node(
      `n${String(id)}`,
      {
        memoryAvailable: bytes(memory * 4 * GiB),
        labels: { rack },
        disks: [{ path: "/w", total: bytes(99 * GiB), free: bytes(disk * GiB) }],
        weights: holds ? [{ source: SOURCE, path: "/w", bytes: bytes(20 * GiB), facts: facts() }] : [],
        gpus: gpus.map(({ free, sick }, index) =>
          gpu(`n${String(id)}-g${String(index)}`, {
            index,
            memoryTotal: bytes(24 * GiB),
            memoryFree: bytes(free * GiB),
            problem: sick ? "sick" : undefined,
          }),
        ),
      },
      state,
    ),
  );

const anyProfile: fc.Arbitrary<Profile> = fc
  .record({
    gpus: fc.option(fc.nat({ max: 4 }), { nil: undefined }),
    gpuMemory: fc.option(
      fc.integer({ min: 1, max: 24 }).map((gib) => bytes(gib * GiB)),
      { nil: undefined },
    ),
    rack: fc.constantFrom({}, { rack: "r1" }),
    context: fc.constantFrom(2048, 32_768, 131_072),
  })
  .map(({ rack, context, ...asks }) => {
    const given = Object.fromEntries(Object.entries(asks).filter(([, value]) => value !== undefined));
    return profile("p", { nodeSelector: rack, context, resources: { nodes: 1, ...given } });
  });

test("the best place of a small cluster is the one that trying everything finds", () => {
  const cluster = fc.uniqueArray(anyNode, { selector: ({ id }) => id, minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(cluster, anyProfile, (nodes, of) => {
      const ask = askOf(of, needsAt(of, knownModel(SOURCE, nodes, undefined)), offer("llama.cpp"));
      const best = bruteForce(ask, nodes);
      const decision = place(ask, nodeViews(nodes, []), DEFAULT_POLICY);
      if (decision.kind === "unplaceable") {
        expect(best).toBeUndefined();
        return;
      }
      const { placement, score } = decision;
      expect({ node: placement.node, gpus: placement.gpus.length }).toEqual({ node: best?.node, gpus: best?.gpus });
      expect(score).toBeCloseTo(best?.score ?? Number.NaN, 9);
    }),
    { numRuns: 1000 },
  );
});

test("a model that no single GPU can hold gets as many as it needs, and each no more than its share", () => {
  const weights = [{ source: SOURCE, path: "/w", bytes: bytes(60 * GiB), facts: facts({ layers: 80 }) }];
  const gpus = Array.from({ length: 8 }, (_, index) =>
    gpu(`g${String(index)}`, { index, memoryTotal: bytes(24 * GiB), memoryFree: bytes(24 * GiB) }),
  );
  const nodes = [node("a", { weights, gpus })];
  const of = profile("p", { context: 8192 });
  const decision = place(
    askOf(of, needsAt(of, knownModel(SOURCE, nodes, undefined)), offer()),
    nodeViews(nodes, []),
    DEFAULT_POLICY,
  );
  expect(decision).toMatchObject({ kind: "unplaceable", rejections: [{ filter: "engine" }] });
  const again = place(
    askOf(of, needsAt(of, knownModel(SOURCE, nodes, undefined)), offer("llama.cpp")),
    nodeViews(nodes, []),
    DEFAULT_POLICY,
  );
  if (again.kind !== "placed") throw new Error("not placed");
  expect(again.placement.gpus).toEqual(["g0", "g1", "g2"]);
  expect(again.placement.gpuMemory).toBeGreaterThan(20 * GiB);
  expect(again.placement.gpuMemory).toBeLessThan(24 * GiB);
  expect(again.placement.memory).toBe(1174 * MiB);
});

test("many at once get what they would get one after another", () => {
  const cluster = fc.uniqueArray(anyNode, { selector: ({ id }) => id, minLength: 1, maxLength: 5 });
  const order = fc.array(fc.nat({ max: 2 }), { minLength: 2, maxLength: 6 });
  fc.assert(
    fc.property(cluster, fc.tuple(anyProfile, anyProfile, anyProfile), order, (nodes, profiles, turns) => {
      const asks = profiles.map((of) =>
        askOf(of, needsAt(of, knownModel(SOURCE, nodes, undefined)), offer("llama.cpp")),
      );
      const pending = turns.flatMap((turn, at) => {
        const ask = asks[turn];
        return ask === undefined ? [] : [{ id: replicaId(`r${String(at)}`), ask }];
      });
      let views = nodeViews(nodes, []);
      const oneByOne = pending.map(({ id, ask }) => {
        const decision = place(ask, views, DEFAULT_POLICY);
        if (decision.kind === "unplaceable") return [id, decision] as const;
        const { source, weights } = ask;
        const fetch = weights === undefined ? undefined : { source, bytes: weights };
        const taken = { profile: ask.profile, share: decision.placement, fetch };
        views = views.map((view) => (view.node.id === decision.placement.node ? withBooking(view, taken) : view));
        return [id, decision] as const;
      });
      expect([...placeAll(pending, nodeViews(nodes, []), DEFAULT_POLICY)]).toEqual(oneByOne);
    }),
    { numRuns: 500 },
  );
});
