import { describe, expect, test } from "vitest";
import { seen, seenReady } from "../../test/fakes/cluster-plan.ts";
import { gathered, heardAt } from "../../test/fakes/gathered.ts";
import { snapshot, stored, storedNode, storedSpec } from "../../test/fakes/snapshots.ts";
import { facts, GiB, gpu, inventory, MiB, profile, ready, replica } from "../../test/fakes/values.ts";
import { bytes, gpuUuid, millis, nodeId } from "../core/ids.ts";
import { launchKey, type MeasuredMemory, type Measurement } from "../core/measured-memory.ts";
import type { Placement, Replica } from "../core/replica-state.ts";
import { decide } from "./decide.ts";
import { learned, measurementOf } from "./measured.ts";

const now = millis(1000);
const spec = profile("m");
const source = spec.model.source;
const gpus = [gpu("g0"), gpu("g1"), gpu("t4", { name: "T4" })];
const node = storedNode("n1", {}, { gpus });

const memory = (host: number, ...used: readonly (readonly [string, number])[]): MeasuredMemory => ({
  host: bytes(host * GiB),
  gpus: used.map(([uuid, held]) => ({ uuid: gpuUuid(uuid), bytes: bytes(held * GiB) })),
});
const on = (uuids: readonly string[], gpuMemory = 10): Placement => ({
  ...{ node: nodeId("n1"), gpus: uuids.map(gpuUuid), memory: bytes(GiB), gpuMemory: bytes(gpuMemory * GiB) },
});
const found = (taken: MeasuredMemory, placement = on([]), more: Partial<Replica> = {}): Replica =>
  replica("m-1", spec, ready, { placement, measured: [{ node: nodeId("n1"), memory: taken }], ...more });

const known = (more: Partial<Measurement> = {}): Measurement => ({
  ...{ source, engine: "llama.cpp b1", launch: launchKey(spec), gpuType: "", gpus: 0 },
  ...{ host: bytes(5 * GiB), perGpu: bytes(0), beyond: bytes(0), at: now, ...more },
});
const onTwo = { gpuType: "L40S", gpus: 2, host: bytes(GiB), perGpu: bytes(9 * GiB) };

describe("what is taken for the truth, of a model of 8 GiB", () => {
  const weights = bytes(8 * GiB);
  test.each([
    { name: "on the CPU", of: found(memory(5)), want: [known()] },
    {
      name: "on GPUs: the most of one",
      of: found(memory(1, ["g0", 6], ["g1", 9]), on(["g0", "g1"])),
      want: [known(onTwo)],
    },
    {
      name: "what was more than booked is noted",
      of: found(memory(1, ["g0", 6], ["g1", 9]), on(["g0", "g1"], 7)),
      want: [known({ ...onTwo, beyond: bytes(2 * GiB) })],
    },
  ])("$name", ({ of, want }) => {
    expect(measurementOf(of, { spec, node, weights, now })).toEqual(want);
  });

  test.each([
    { name: "one that is not ready", of: found(memory(5), on([]), { state: { kind: "starting", note: "" } }) },
    { name: "less than half of the model", of: found(memory(3)) },
    { name: "nothing", of: found(memory(0)) },
    { name: "more than the node has", of: found(memory(65)) },
    { name: "on GPUs, less than half of the model", of: found(memory(1, ["g0", 3]), on(["g0"])) },
    { name: "more than the GPU has", of: found(memory(1, ["g0", 24]), on(["g0"])) },
    { name: "a GPU of which the driver does not tell", of: found(memory(1), on(["g0"])) },
    { name: "one of two of which it does not tell", of: found(memory(1, ["g0", 9]), on(["g0", "g1"])) },
    { name: "GPUs of two kinds", of: found(memory(1, ["g0", 9], ["t4", 9]), on(["g0", "t4"])) },
    { name: "a GPU that the node has no more", of: found(memory(1, ["gone", 9]), on(["gone"])) },
    {
      name: "a rank of several",
      of: found(memory(5), { ...on([]), gang: { fabric: "ib", engine: "vllm", followers: [] } }),
    },
  ])("but not of $name", ({ of }) => {
    expect(measurementOf(of, { spec, node, weights, now })).toEqual([]);
  });

  test("of a model whose size nobody knows anything that there is", () => {
    expect(measurementOf(found(memory(3)), { spec, node, weights: undefined, now })).toHaveLength(1);
  });
});

describe("what is kept", () => {
  const holding = (of: Replica, measurements: readonly Measurement[] = []) =>
    snapshot({ replicas: [of], measurements, nodes: [node], profiles: [stored(spec)], specs: [storedSpec(spec)] });
  const nothing = holding(replica("m-1", spec, ready, { placement: on([]) }));

  test("the most that was seen; less is no news", () => {
    const first = learned(nothing, holding(found(memory(5))), now);
    expect(first).toEqual([known()]);
    const less = learned(holding(found(memory(5)), first), holding(found(memory(4)), first), now);
    expect(less).toBe(first);
    const more = learned(holding(found(memory(4)), first), holding(found(memory(6)), first), now);
    expect(more).toEqual([known({ host: bytes(6 * GiB) })]);
  });

  test("nothing is looked at again that was looked at before", () => {
    const after = holding(found(memory(5)));
    expect(learned(after, after, now)).toBe(after.measurements);
    expect(learned(after, { ...after, replicas: [...after.replicas] }, now)).toEqual([]);
  });

  test("the oldest make room", () => {
    const many = Array.from({ length: 2000 }, (_, at) => known({ engine: `llama.cpp b${String(at)}`, at: millis(at) }));
    const after = learned(
      nothing,
      holding(found(memory(5), on([]), { state: { ...ready, engine: "x 1" } as Replica["state"] }), many),
      millis(9999),
    );
    expect(after).toHaveLength(2000);
    expect(after.at(-1)).toMatchObject({ engine: "x 1" });
    expect(after.some(({ engine }) => engine === "llama.cpp b0")).toBe(false);
  });
});

test("a node's report makes the next replica be booked by what the first took, on a node with the same build", () => {
  const weights = [{ source, path: "/w", bytes: bytes(8 * GiB), facts: facts() }];
  const engines = [{ name: "llama.cpp", version: "b1", origin: "installed", path: "/e", devices: [] }] as const;
  const has = inventory({ weights, engines });
  const two = profile("m", { context: 4096, replicas: { kind: "fixed", count: 2 } });
  const one = replica("m-0", two, ready, { placement: on([]) });
  const said = { revision: 9, replicas: [seen(one, seenReady, { pid: 7, memory: memory(9) })] };
  const nodes = [storedNode("n1", {}, has), storedNode("n2", {}, has)];
  const before = snapshot({ profiles: [stored(two)], specs: [storedSpec(two)], replicas: [one], nodes });
  const heard = nodes.map(({ id, inventory: is }) => ({
    ...heardAt(now, { id, inventory: is }),
    ...(id === "n1" ? { observed: said } : {}),
  }));
  const heardOf = gathered(now, { nodes: new Map(heard.map((each) => [each.id, each])) });
  const { snapshot: learnt } = decide(before, heardOf);
  expect(learnt.measurements).toMatchObject([{ engine: "llama.cpp b1", host: 9 * GiB, gpuType: "" }]);
  expect(learnt.replicas[0]?.measured).toEqual([{ node: "n1", memory: memory(9) }]);
  // The second was placed in the same turn, before anything was known; the third is booked by what is known.
  const { snapshot: after } = decide(
    { ...learnt, profiles: [stored(profile("m", { context: 4096, replicas: { kind: "fixed", count: 3 } }))] },
    heardOf,
  );
  const third = after.replicas.find(({ id }) => !learnt.replicas.some((other) => other.id === id));
  expect(third?.placement?.memory).toBe(Math.ceil(9 * GiB * 1.1) + 1024 * MiB);
});
