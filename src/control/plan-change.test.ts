import { expect, test } from "vitest";
import { gathered, heardAt } from "../../test/fakes/gathered.ts";
import { snapshot, stored, storedNode, storedSpec } from "../../test/fakes/snapshots.ts";
import { GiB, profile, ready, replica } from "../../test/fakes/values.ts";
import { bytes, millis, nodeId, replicaId } from "../core/ids.ts";
import type { Profile } from "../core/profile.ts";
import type { Snapshot } from "../store/store.ts";
import type { Gathered } from "./decide.ts";
import { drainNode } from "./drain-node.ts";
import { drainForecast } from "./forecast.ts";
import { type PlannedObject, planObjects } from "./plan-change.ts";

const now = millis(1_000_000);

/** Every node is connected and says what the snapshot says. */
const gatheredOf = ({ nodes }: Snapshot): Gathered =>
  gathered(now, {
    nodes: new Map(nodes.map((node) => [node.id, heardAt(now, node)])),
    mint: () => ({ id: replicaId("never"), apiKey: "" }),
  });

const needing = (gib: number, count: number, args: readonly string[] = []): Profile =>
  profile("p", { args, replicas: { kind: "fixed", count }, resources: { nodes: 1, memory: bytes(gib * GiB) } });

const running = (on: readonly string[], gib: number, freeGib: number): Snapshot => {
  const spec = needing(gib, on.length);
  const held = { source: spec.model.source, path: "/w", bytes: bytes(GiB) };
  return snapshot({
    profiles: [stored(spec)],
    specs: [storedSpec(spec)],
    nodes: on.map((id) => storedNode(id, {}, { memoryAvailable: bytes(freeGib * GiB), weights: [held] })),
    replicas: on.map((id) =>
      replica(`p-${id}`, spec, ready, {
        placement: { node: nodeId(id), gpus: [], memory: bytes(gib * GiB), gpuMemory: bytes(0) },
      }),
    ),
  });
};

function plan(before: Snapshot, ...profiles: Profile[]): readonly PlannedObject[] {
  const planned = planObjects(before, {
    profiles,
    aliases: [],
    upstreams: [],
    looked: [],
    gathered: gatheredOf(before),
  });
  if (!planned.ok) throw new Error(planned.error.join());
  return planned.value;
}

test("nothing changes: nothing is said", () => {
  const before = running(["n1"], 8, 56);
  expect(plan(before, needing(8, 1))).toMatchObject([
    { name: "p", outcome: "unchanged", fields: [], places: [], sentences: [] },
  ]);
});

test("a new profile: where it would go and what must be fetched there", () => {
  const before = snapshot({ nodes: [storedNode("n1")] });
  expect(plan(before, needing(8, 2))).toMatchObject([
    {
      outcome: "created",
      places: [
        { node: "n1", fetches: true },
        { node: "n1", fetches: false },
      ],
      removed: 0,
      restarted: 0,
      sentences: [],
    },
  ]);
});

test("a new profile that fits nowhere now: every node's no", () => {
  const full = snapshot({ nodes: [storedNode("n1", {}, { memoryAvailable: bytes(GiB) })] });
  const [planned] = plan(full, needing(60, 1));
  expect(planned?.places).toMatchObject([{ node: "", reason: expect.stringMatching(/^n1 .*needs 60 GiB/) as string }]);
  expect(planned?.sentences).toEqual(["1 replica is left without a place"]);
});

test("a changed profile with room: key by key, where to, and that nothing is missing meanwhile", () => {
  expect(plan(running(["n1", "n2"], 8, 56), needing(8, 2, ["--new"]))).toMatchObject([
    {
      outcome: "changed",
      fields: [{ path: "args", after: '["--new"]' }],
      places: [{ fetches: false }, { fetches: false }],
      restarted: 2,
      removed: 0,
      leastReady: 2,
      sentences: [
        "2 replicas are replaced: each new one is ready before an old one goes, so 2 of 2 serve all the time",
      ],
    },
  ]);
});

test("a changed profile without room: the reduced capacity is stated beforehand", () => {
  expect(plan(running(["n1", "n2"], 40, 20), needing(40, 2, ["--new"]))).toMatchObject([
    {
      restarted: 2,
      leastReady: 1,
      ready: 2,
      sentences: [
        "2 replicas are replaced: there is no room to start a new one first, so capacity goes down to 1 of 2 on the way",
      ],
    },
  ]);
});

test("fewer replicas: nothing restarts", () => {
  expect(plan(running(["n1", "n2"], 8, 56), needing(8, 1))).toMatchObject([
    {
      fields: [{ path: "replicas", before: "2", after: "1" }],
      restarted: 0,
      removed: 1,
      places: [],
      sentences: ["1 replica is drained and not replaced"],
    },
  ]);
});

test("a plan that would be refused is refused", () => {
  const before = running(["n1"], 8, 56);
  const wish = {
    profiles: [profile("q", { serves: ["p"] })],
    aliases: [],
    upstreams: [],
    looked: [],
    gathered: gatheredOf(before),
  };
  expect(planObjects(before, wish)).toMatchObject({ ok: false });
});

test.each([
  { name: "with room elsewhere", gib: 8, free: 56, want: ["a replica of p is made on n2 first"] },
  {
    name: "without",
    gib: 40,
    free: 20,
    want: [
      expect.stringMatching(
        /^there is no room elsewhere for p-n1 \(n1: .*\): without any it is drained anyway at 1970-01-01T00:17:40/,
      ) as string,
    ],
  },
])("what a drain says $name", ({ gib, free, want }) => {
  const drained = drainNode(running(["n1", "n2"], gib, free), "n1", { now, within: millis(60_000) });
  if (!drained.ok) throw new Error("no such node");
  expect(drainForecast(drained.value.snapshot, gatheredOf(drained.value.snapshot), "n1")).toEqual(want);
});
