import { describe, expect, test } from "vitest";
import { snapshot, stored, storedNode, storedSpec } from "../../test/fakes/snapshots.ts";
import { facts, GiB, gpu, profile, replica } from "../../test/fakes/values.ts";
import { bytes, millis } from "../core/ids.ts";
import type { LookedModel } from "../core/model-facts.ts";
import type { Profile } from "../core/profile.ts";
import type { Snapshot } from "../store/store.ts";
import { applyInformed } from "./informed-apply.ts";
import { fetchesOf, needsOf, unknownTo } from "./model-needs.ts";

const now = millis(0);
const m = profile("m", { parallel: { tensor: 3, pipeline: 1 }, resources: { nodes: 1, gpus: 3 } });
const { source } = m.model;
const looked = (more: Partial<LookedModel> = {}): LookedModel => ({
  source,
  facts: facts({ format: "safetensors", heads: 64 }),
  weights: bytes(5 * GiB),
  problem: "",
  ...more,
});

const uneven = "m: the model has 64 attention heads, which 3 GPUs cannot share evenly; set parallel.tensor to 2 or 4";

describe("what the model's own header rules out is refused as a whole, with every reason", () => {
  test("heads that the GPUs cannot share, by the source's word and by a node's", () => {
    const other = profile("other", { serves: ["m"] });
    const before = snapshot();
    expect(applyInformed(before, { profiles: [m, other], looked: [looked()], now })).toEqual({
      ok: false,
      error: [uneven],
    });
    const weights = [{ source, path: "/w", bytes: bytes(1), facts: facts({ format: "safetensors", heads: 64 }) }];
    const held = snapshot({ nodes: [storedNode("a", {}, { weights })] });
    expect(applyInformed(held, { profiles: [m], looked: [], now })).toEqual({
      ok: false,
      error: [uneven],
    });
  });

  test.each([
    { name: "a GGUF, whose layers stay whole", of: looked({ facts: facts({ heads: 64 }) }) },
    { name: "heads that nobody knows", of: looked({ facts: facts({ format: "safetensors", heads: undefined }) }) },
    { name: "a source that said nothing", of: looked({ facts: undefined, weights: undefined, problem: "silent" }) },
  ])("not refused: $name", ({ of }) => {
    expect(applyInformed(snapshot(), { profiles: [m], looked: [of], now }).ok).toBe(true);
  });
});

describe("a profile that no node could ever hold", () => {
  const small = storedNode("a", {}, { memoryTotal: bytes(16 * GiB), memoryAvailable: bytes(GiB) });
  const two = storedNode("b", { liveness: "lost" }, { gpus: [gpu("1", { problem: "fell off the bus" }), gpu("2")] });
  const four = profile("four", { resources: { nodes: 1, gpus: 4 } });
  const large = profile("large", { resources: { nodes: 1, memory: bytes(72 * GiB) } });
  const apply = (nodes: Snapshot["nodes"], profiles: readonly Profile[], more: Partial<Snapshot> = {}) => {
    const applied = applyInformed(snapshot({ nodes, ...more }), { profiles, looked: [], now });
    return applied.ok ? "applied" : applied.error;
  };

  test("is refused with the others, each with the nearest node first and the smallest change", () => {
    expect(apply([small, two], [profile("fine"), four, large])).toEqual([
      "four: no node could hold it, even empty: b needs 4 GPUs to itself, has 2 of 2; a needs 4 GPUs to itself, has none. " +
        "The smallest change: on b, add 2 GPUs",
      "large: no node could hold it, even empty: " +
        "b insufficient memory: needs 72 GiB, can give 64 GiB of 64 GiB (0 B in use, 0 B booked); " +
        "a insufficient memory: needs 72 GiB, can give 16 GiB of 16 GiB (0 B in use, 0 B booked). " +
        "The smallest change: on b, add 8.0 GiB of memory, or set resources.memory to 64 GiB or less",
    ]);
  });

  test("is refused for each rank's sake where it spans nodes, and of many nodes the nearest are told", () => {
    const spread = profile("spread", { engine: "vllm", resources: { nodes: 2, gpus: 4 } });
    const nodes = ["a", "b", "c", "d", "e"].map((id) => storedNode(id));
    const [why] = apply(nodes, [spread]);
    expect(why).toContain("c needs 4 GPUs to itself, has none; and 2 more that lack as much or more.");
    const fits = storedNode("b", {}, { gpus: ["1", "2", "3", "4"].map((uuid) => gpu(uuid)) });
    expect(apply([small, fits], [spread])).toBe("applied");
  });

  test("is refused when it is to have replicas for the first time", () => {
    const none = stored({ ...four, replicas: { kind: "fixed", count: 0 } });
    expect(apply([small], [four], { profiles: [none] })).toHaveLength(1);
  });

  test.each<{ name: string; nodes: Snapshot["nodes"]; of: Profile; more?: Partial<Snapshot> }>([
    { name: "no node has joined", nodes: [], of: four },
    { name: "its GPUs are taken or unwell", nodes: [two], of: profile("m", { resources: { nodes: 1, gpus: 2 } }) },
    { name: "a node cannot see its GPUs", nodes: [storedNode("b", {}, { problems: ["no driver"] })], of: four },
    { name: "it wants no replica", nodes: [small], of: { ...four, replicas: { kind: "fixed", count: 0 } } },
    { name: "it stays as it was", nodes: [small], of: four, more: { profiles: [stored(four)] } },
    { name: "a label is missing", nodes: [small], of: profile("m", { nodeSelector: { rack: "r1" } }) },
  ])("is not refused: $name", ({ nodes, of, more }) => {
    expect(apply(nodes, [of], more)).toBe("applied");
  });
});

test("what a source said is kept for as long as a profile names it, and the estimate is made of it", () => {
  const small = profile("m", { context: 8192 });
  const applied = applyInformed(snapshot(), {
    profiles: [small],
    looked: [looked({ facts: facts() })],

    now,
  });
  if (!applied.ok) throw new Error(applied.error.join());
  const after = applied.value.snapshot;
  const needs = needsOf(after)(small)(8192);
  expect(needs).toMatchObject({ basis: "header", origin: "from the model's header at its source" });
  expect(needs.onCpu.kvCache).toBe(GiB);
  expect(unknownTo(after, [small])).toEqual([]);
  const moved = profile("m", { model: { source: "hf:acme/else", files: [], sha256: {} } });
  expect(unknownTo(after, [moved, moved])).toEqual([moved]);
  const next = applyInformed({ ...after, specs: [] }, { profiles: [moved], looked: [], now });
  expect(next.ok && next.value.snapshot.models).toEqual([]);
});

test("a source that could not be asked is asked again, and the estimate says why it is none", () => {
  const silent = looked({ facts: undefined, weights: undefined, problem: "the Hub is down" });
  const before = snapshot({ models: [silent] });
  expect(unknownTo(before, [m])).toEqual([m]);
  expect(needsOf(before)(m)(undefined)).toMatchObject({ basis: "default", weights: undefined });
  expect(needsOf(before)(m)(undefined).origin).toContain("(the Hub is down)");
  const sized = snapshot({ models: [{ ...silent, weights: bytes(10 * GiB) }] });
  expect(needsOf(sized)(m)(undefined)).toMatchObject({ basis: "size", weights: 10 * GiB });
});

test("adapters are looked at like models, kept like them, and count with the weights", () => {
  const tuned = profile("m", { adapters: { kind: "hf:acme/kind" } });
  const of = { model: { source: "hf:acme/kind", files: [], sha256: {} }, adapters: {} };
  expect(unknownTo(snapshot(), [tuned])).toEqual([tuned, { ...tuned, ...of }]);
  const kind = looked({ source: "hf:acme/kind", facts: undefined, weights: bytes(GiB), problem: "no model" });
  const applied = applyInformed(snapshot(), { profiles: [tuned], looked: [looked(), kind], now });
  if (!applied.ok) throw new Error(applied.error.join());
  const after = applied.value.snapshot;
  expect(after.models.map((model) => model.source)).toEqual(["hf:acme/kind", source]);
  expect(needsOf(after)(tuned)(8192)).toMatchObject({ weights: 6 * GiB, onCpu: { weights: 6 * GiB } });
  expect(needsOf(after)(m)(8192)).toMatchObject({ weights: 5 * GiB });
  const placed = replica("a", tuned, { kind: "placed" });
  expect(fetchesOf({ ...after, specs: [storedSpec(tuned)] })(placed)).toEqual({ source, bytes: 6 * GiB });
});
