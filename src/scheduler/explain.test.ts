import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { facts, GiB, gpu, MiB, node, profile, offer } from "../../test/fakes/values.ts";
import { knownModel, needsAt } from "../engines/known-model.ts";
import { bytes } from "../core/ids.ts";
import type { ClusterNode, HeldModel } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import { type Ask, askOf } from "./ask.ts";
import { explain, type NodeAnswer } from "./explain.ts";
import { nodeViews } from "./node-view.ts";
import { place } from "./place.ts";
import { DEFAULT_POLICY } from "./policies.ts";
import { type Remedy, remedyInWords } from "./remedy.ts";

/** One node and what is asked of it. The model's header and size are known by another node, which is no candidate. */
interface World {
  readonly node: ClusterNode;
  readonly profile: Profile;
  readonly installable: readonly string[];
  readonly model: HeldModel | undefined;
}

const asked = ({ profile: of, node: on, installable, model }: World): Ask => {
  const holder = model === undefined ? [] : [node("holder", { weights: [model] })];
  return askOf(of, needsAt(of, knownModel(of.model.source, [...holder, on], undefined)), offer(...installable));
};

const answer = (world: World): NodeAnswer => {
  const [first] = explain(asked(world), nodeViews([world.node], []), DEFAULT_POLICY);
  if (first === undefined) throw new Error("no answer for the node");
  return first;
};

const inWords = (world: World): readonly string[] =>
  answer(world).refusals.map(({ filter, remedies }) => `${filter}: ${remedies.map(remedyInWords).join(", or ")}`);

const held = (source: string, size: number): HeldModel => ({ source, path: "/w", bytes: bytes(size), facts: facts() });
const world = (more: Partial<World> = {}): World => ({
  node: node("a"),
  profile: profile("p"),
  installable: ["llama.cpp"],
  model: undefined,
  ...more,
});

describe("every rule that says no, and the smallest change that would say yes", () => {
  const r12 = profile("p", { nodeSelector: { rack: "r12", zone: "z1" } });
  const big = profile("p", { resources: { nodes: 1, memory: bytes(72 * GiB) } });
  const source = profile("p").model.source;
  test.each<{ name: string; of: World; want: readonly string[] }>([
    { name: "a node that takes it", of: world(), want: [] },
    {
      name: "silent and cordoned at once",
      of: world({ node: node("a", {}, { liveness: "lost", cordoned: true }) }),
      want: ["alive: start its agent, or mend the way to it", "cordoned: uncordon it"],
    },
    {
      name: "labels, all of them in one change",
      of: world({ profile: r12, node: node("a", { labels: { zone: "z2" } }) }),
      want: ["selector: give it the labels rack=r12 and zone=z1, or drop rack and zone from node_selector"],
    },
    {
      name: "an engine",
      of: world({ profile: profile("p", { engine: "vllm" }) }),
      want: ["engine: name vllm in server.yaml (engines:), or install it there", "gpus: add 1 GPU"],
    },
    {
      name: "more memory than it has, of a profile that names it",
      of: world({ profile: big }),
      want: ["memory: add 12 GiB of memory, or set resources.memory to 60 GiB or less"],
    },
    {
      name: "memory that others use, of a model whose header is known: 131072 tokens of 128 KiB",
      of: world({ node: node("a", { memoryAvailable: bytes(12 * GiB) }), model: held(source, 5 * GiB) }),
      want: ["memory: free 11 GiB of memory, or set context to 32768 or less"],
    },
    {
      name: "GPUs: one to empty and one to add",
      of: world({
        profile: profile("p", { resources: { nodes: 1, gpus: 3 } }),
        node: node("a", { gpus: [gpu("g0"), gpu("g1", { index: 1, memoryFree: bytes(0) })] }),
      }),
      want: ["gpus: empty GPU 1 and add 1 GPU"],
    },
    {
      name: "GPU memory: the nearest one",
      of: world({
        profile: profile("p", { resources: { nodes: 1, gpus: 1, gpuMemory: bytes(20_000 * MiB) } }),
        node: node("a", {
          gpus: [
            gpu("g0", { problem: "ECC errors" }),
            gpu("g1", { index: 1, memoryFree: bytes(4000 * MiB) }),
            gpu("g2", { index: 2, memoryFree: bytes(19_000 * MiB) }),
          ],
        }),
      }),
      want: ["gpus: free 1000 MiB more on GPU 2, or set resources.gpu_memory to 19 GiB or less"],
    },
    {
      name: "no GPU could ever give so much",
      of: world({
        profile: profile("p", { resources: { nodes: 1, gpus: 1, gpuMemory: bytes(80 * GiB) } }),
        node: node("a", { gpus: [gpu("g0")] }),
      }),
      want: ["gpus: add 1 GPU with 80 GiB free, or set resources.gpu_memory to 23 GiB or less"],
    },
    {
      name: "disk",
      of: world({
        model: held(source, 5 * GiB),
        node: node("a", { disks: [{ path: "/w", total: bytes(9 * GiB), free: bytes(GiB) }] }),
      }),
      want: ["disk: free 4.0 GiB more on /w"],
    },
  ])("$name", ({ of, want }) => {
    expect(inWords(of)).toEqual(want);
  });
});

type RemedyOf = { readonly [R in Remedy as R["kind"]]: R };

const withNode = (before: World, more: Partial<ClusterNode>): World => ({
  ...before,
  node: { ...before.node, ...more },
});
const withInventory = (before: World, more: Partial<ClusterNode["inventory"]>): World =>
  withNode(before, { inventory: { ...before.node.inventory, ...more } });
const withProfile = (before: World, more: Partial<Profile>): World => ({
  ...before,
  profile: { ...before.profile, ...more },
});
const withResources = (before: World, more: Partial<Profile["resources"]>): World =>
  withProfile(before, { resources: { ...before.profile.resources, ...more } });

/** The world after each change, done literally. */
const CHANGES: { readonly [K in Remedy["kind"]]: (before: World, remedy: RemedyOf[K]) => World } = {
  reconnect: (before) => withNode(before, { liveness: "connected" }),
  uncordon: (before) => withNode(before, { cordoned: false }),
  "add-labels": (before, { labels: added }) =>
    withInventory(before, { labels: { ...before.node.inventory.labels, ...added } }),
  "drop-selector": (before, { labels: dropped }) => {
    const left = Object.entries(before.profile.nodeSelector).filter(([label]) => !dropped.includes(label));
    return withProfile(before, { nodeSelector: Object.fromEntries(left) });
  },
  "name-fabric": (before) =>
    withInventory(before, { fabrics: [{ name: "ib", hcas: [], rateGbps: 0, ports: [], problem: undefined }] }),
  "mend-fabric": (before, { fabric }) =>
    withInventory(before, {
      fabrics: before.node.inventory.fabrics.map((one) => (one.name === fabric ? { ...one, problem: undefined } : one)),
    }),
  // Of other nodes, and this world has one.
  "join-fabric": (before) => before,
  "offer-engine": (before, { engines }) => ({ ...before, installable: [...before.installable, engines[0] ?? ""] }),
  "free-memory": (before, { bytes: freed, beyond }) => {
    const { memoryAvailable, memoryTotal } = before.node.inventory;
    const available = bytes(memoryAvailable + freed);
    expect(available > memoryTotal).toBe(beyond);
    return withInventory(before, { memoryAvailable: available, memoryTotal: beyond ? available : memoryTotal });
  },
  "name-memory": (before, { bytes: memory }) => withResources(before, { memory }),
  "name-context": (before, { tokens }) => withProfile(before, { context: tokens }),
  "name-gpu-memory": (before, { bytes: gpuMemory }) => withResources(before, { gpuMemory }),
  "free-gpus": (before, { gpus, more, memory }) => {
    const given = new Map(gpus.map((each) => [each.uuid, each.bytes]));
    const size = memory === "whole" ? bytes(24 * GiB) : memory;
    const added = Array.from({ length: more }, (_, n) =>
      gpu(`new-${String(n)}`, { memoryTotal: size, memoryFree: size }),
    );
    const freed = before.node.inventory.gpus.map((each) => {
      const memoryFree = bytes(each.memoryFree + (given.get(each.uuid) ?? 0));
      expect(memoryFree).toBeLessThanOrEqual(each.memoryTotal);
      return { ...each, memoryFree };
    });
    return withInventory(before, { gpus: [...freed, ...added] });
  },
  "free-disk": (before, { path, bytes: freed }) =>
    withInventory(before, {
      disks: before.node.inventory.disks.map((disk) =>
        disk.path === path ? { ...disk, free: bytes(disk.free + freed) } : disk,
      ),
    }),
};

const changed = <K extends Remedy["kind"]>(before: World, kind: K, remedy: RemedyOf[K]): World =>
  CHANGES[kind](before, remedy);

const label = fc.constantFrom("rack", "zone", "constructor");
const labels = fc.dictionary(label, fc.constantFrom("r1", "r2"), { maxKeys: 3 });
const size = (max: number) => fc.integer({ min: 1, max }).map((mib) => bytes(mib * 100 * MiB));
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });

const anyWorld: fc.Arbitrary<World> = fc
  .record({
    liveness: fc.constantFrom("connected", "unreachable", "lost"),
    cordoned: fc.boolean(),
    has: labels,
    wants: labels,
    engine: fc.constantFrom("auto", "llama.cpp", "vllm"),
    memoryAvailable: fc.nat({ max: 640 }),
    disk: size(200),
    model: maybe(size(400)),
    context: maybe(fc.integer({ min: 1, max: 200_000 })),
    args: fc.constantFrom([], ["-np", "3"], ["-c", "60000"]),
    gpus: fc.array(fc.record({ used: fc.nat({ max: 240 }), sick: fc.boolean() }), {
      maxLength: 4,
    }),
    // No machine has GPUs of both kinds.
    unified: fc.boolean(),
    asks: fc.record({ gpus: maybe(fc.nat({ max: 4 })), gpuMemory: maybe(size(300)), memory: maybe(size(900)) }),
  })
  .map(({ asks, ...any }) => {
    const given = Object.fromEntries(Object.entries(asks).filter(([, value]) => value !== undefined));
    const of = profile("p", {
      nodeSelector: any.wants,
      engine: any.engine,
      args: any.args,
      resources: { nodes: 1, ...given },
      ...(any.context === undefined ? {} : { context: any.context }),
    });
    const gpus = any.gpus.map(({ used, sick }, index) =>
      gpu(`g${String(index)}`, {
        index,
        memoryTotal: bytes(24_000 * MiB),
        memoryFree: bytes((240 - used) * 100 * MiB),
        problem: sick ? "sick" : undefined,
        unified: any.unified,
      }),
    );
    const on = node(
      "a",
      {
        labels: any.has,
        memoryAvailable: bytes(any.memoryAvailable * 100 * MiB),
        disks: [{ path: "/w", total: bytes(20_000 * MiB), free: any.disk }],
        gpus,
      },
      { liveness: any.liveness, cordoned: any.cordoned },
    );
    const model = any.model === undefined ? undefined : held(of.model.source, any.model);
    return world({ node: on, profile: of, installable: [], model });
  });

test("every change that is named makes its rule say yes, and a node without a no is one that placing takes", () => {
  fc.assert(
    fc.property(anyWorld, (before) => {
      const { refusals, score } = answer(before);
      for (const { filter, remedies } of refusals) {
        for (const remedy of remedies) {
          const after = answer(changed(before, remedy.kind, remedy)).refusals.map((refusal) => refusal.filter);
          expect(after, JSON.stringify(remedy)).not.toContain(filter);
        }
      }
      const decision = place(asked(before), nodeViews([before.node], []), DEFAULT_POLICY);
      expect(decision.kind).toBe(refusals.length === 0 ? "placed" : "unplaceable");
      if (decision.kind === "placed") expect(decision.score).toBe(score);
      else expect(decision.rejections[0]?.filter).toBe(refusals[0]?.filter);
    }),
    { numRuns: 1000 },
  );
});
