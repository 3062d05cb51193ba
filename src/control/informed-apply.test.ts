import { describe, expect, test } from "vitest";
import { snapshot, storedNode } from "../../test/fakes/snapshots.ts";
import { facts, GiB, profile } from "../../test/fakes/values.ts";
import { bytes, millis } from "../core/ids.ts";
import type { LookedModel } from "../core/model-facts.ts";
import { applyInformed } from "./informed-apply.ts";
import { needsOf, unknownTo } from "./model-needs.ts";

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
    expect(applyInformed(held, { profiles: [m], looked: [], now })).toEqual({ ok: false, error: [uneven] });
  });

  test.each([
    { name: "a GGUF, whose layers stay whole", of: looked({ facts: facts({ heads: 64 }) }) },
    { name: "heads that nobody knows", of: looked({ facts: facts({ format: "safetensors", heads: undefined }) }) },
    { name: "a source that said nothing", of: looked({ facts: undefined, weights: undefined, problem: "silent" }) },
  ])("not refused: $name", ({ of }) => {
    expect(applyInformed(snapshot(), { profiles: [m], looked: [of], now }).ok).toBe(true);
  });
});

test("what a source said is kept for as long as a profile names it, and the estimate is made of it", () => {
  const small = profile("m", { context: 8192 });
  const applied = applyInformed(snapshot(), { profiles: [small], looked: [looked({ facts: facts() })], now });
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
