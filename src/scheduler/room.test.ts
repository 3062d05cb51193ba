import { describe, expect, test } from "vitest";
import { GiB, gpu, MiB, node, offer, profile, ready, replica } from "../../test/fakes/values.ts";
import { bytes, replicaId } from "../core/ids.ts";
import type { ClusterNode } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica } from "../core/replica-state.ts";
import { knownModel, needsAt } from "../engines/known-model.ts";
import { askOf } from "./ask.ts";
import { nodeViews } from "./node-view.ts";
import { placeAll } from "./place.ts";
import { DEFAULT_POLICY } from "./policies.ts";

const asked = (of: Profile, nodes: readonly ClusterNode[]) =>
  askOf(of, needsAt(of, knownModel(of.model.source, nodes, undefined)), offer("llama.cpp"));

test.each([
  { name: "two halves would be all of it, and nothing is left for the driver", parts: [12_000, 12_000], want: 1 },
  { name: "a half and nearly a half", parts: [12_000, 11_900], want: 2 },
  { name: "one alone may have all of it", parts: [24_000], want: 1 },
  { name: "fifty of a fiftieth: the last one not", parts: Array.from({ length: 50 }, () => 480), want: 49 },
])("the fractions of one GPU sum below one: $name", ({ parts, want }) => {
  const nodes = [node("a", { gpus: [gpu("g0")] })];
  const pending = parts.map((mib, at) => ({
    id: replicaId(`r${String(at)}`),
    ask: asked(profile("p", { resources: { nodes: 1, gpus: 1, gpuMemory: bytes(mib * MiB) } }), nodes),
  }));
  const decisions = [...placeAll(pending, nodeViews(nodes, []), DEFAULT_POLICY).values()];
  expect(decisions.filter(({ kind }) => kind === "placed")).toHaveLength(want);
});

describe("B132 two at once need a disk that has room for the weights of one", () => {
  const nodes = [
    node("a", { disks: [{ path: "/w", total: bytes(99 * GiB), free: bytes(15 * GiB) }] }),
    node(
      "b",
      {
        weights: ["p", "q"].map((name) => ({ source: profile(name).model.source, path: "/w", bytes: bytes(10 * GiB) })),
      },
      { cordoned: true },
    ),
  ];
  const fetching = (name: string, at: string) => ({ id: replicaId(at), ask: asked(profile(name), nodes) });
  const decided = (...pending: readonly ReturnType<typeof fetching>[]) =>
    [...placeAll(pending, nodeViews(nodes, []), DEFAULT_POLICY).values()].map((each) =>
      each.kind === "placed" ? each.placement.node : "nowhere",
    );

  test("of two models one has to wait", () => {
    expect(decided(fetching("p", "r1"), fetching("q", "r2"))).toEqual(["a", "nowhere"]);
  });

  test("two replicas of one model fetch it once", () => {
    expect(decided(fetching("p", "r1"), fetching("p", "r2"))).toEqual(["a", "a"]);
  });

  test("what has come already is counted once", () => {
    const p = profile("p");
    const progress = {
      what: "fetching m",
      bytesDone: bytes(9 * GiB),
      bytesTotal: bytes(10 * GiB),
      bytesPerSecond: 1,
    };
    const coming = replica("p-1", p, { kind: "preparing", progress }, { on: "a" });
    const of = (one: Replica) => ({ source: one.profile, bytes: bytes(10 * GiB) });
    const after = (one: Replica) => nodeViews(nodes, [one], of)[0]?.diskFree;
    expect(after(coming)).toBe(14 * GiB);
    expect(after(replica("p-1", p, { kind: "placed" }, { on: "a" }))).toBe(5 * GiB);
    expect(after(replica("p-1", p, ready, { on: "a" }))).toBe(15 * GiB);
  });
});
