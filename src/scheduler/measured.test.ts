import { describe, expect, test } from "vitest";
import { facts, GiB, gpu, MiB, node, offer, profile } from "../../test/fakes/values.ts";
import { bytes, millis } from "../core/ids.ts";
import { launchKey, type Measurement } from "../core/measured-memory.ts";
import type { Inventory } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import { knownModel, needsAt } from "../engines/known-model.ts";
import { type Ask, askOf } from "./ask.ts";
import { nodeViews } from "./node-view.ts";
import { place } from "./place.ts";
import { DEFAULT_POLICY } from "./policies.ts";

const of = profile("m", { context: 8192 });
const weights = [{ source: of.model.source, path: "/w", bytes: bytes(8 * GiB), facts: facts() }];
const build = (version: string): Inventory["engines"] => [
  { name: "llama.cpp", version, origin: "installed", path: "/e", devices: [] },
];

const found = (more: Partial<Measurement> = {}): Measurement => ({
  source: of.model.source,
  engine: "llama.cpp b7",
  launch: launchKey(of),
  gpuType: "L40S",
  gpus: 1,
  host: bytes(GiB),
  perGpu: bytes(6 * GiB),
  beyond: bytes(0),
  at: millis(0),
  ...more,
});

const onCpu = { gpuType: "", gpus: 0, perGpu: bytes(0), host: bytes(10 * GiB) };

const booked = (measured: readonly Measurement[], has: Partial<Inventory>, asked: Profile = of) => {
  const nodes = [node("a", { weights, engines: build("b7"), ...has })];
  const needs = needsAt(asked, knownModel(of.model.source, nodes, undefined));
  const ask: Ask = askOf(asked, (context) => ({ ...needs(context), measured }), offer("llama.cpp", "vllm"));
  const decision = place(ask, nodeViews(nodes, []), DEFAULT_POLICY);
  if (decision.kind !== "placed") throw new Error(JSON.stringify(decision));
  const { memory, gpuMemory } = decision.placement;
  return { memory, gpuMemory };
};

const one = { gpus: [gpu("g0")] };
const estimated = booked([], one);
/** llama-server's cache of prompts, which is empty when it has just been measured. */
const PROMPTS = 1024 * MiB;

describe("what was measured takes the place of the estimate", () => {
  test.each([
    { name: "on a GPU, with a tenth more", measured: [found()], has: one, want: { gpuMemory: Math.ceil(6.6 * GiB) } },
    {
      name: "in the host's memory too, and room for what fills with use",
      measured: [found()],
      has: one,
      want: { memory: Math.ceil(1.1 * GiB) + PROMPTS },
    },
    {
      name: "on the CPU",
      measured: [found(), found(onCpu)],
      has: {},
      want: { memory: Math.ceil(11 * GiB) + PROMPTS, gpuMemory: 0 },
    },
    {
      name: "on the CPU, but not less than the weights, of which not all have been needed yet",
      measured: [found({ ...onCpu, host: bytes(5 * GiB) })],
      has: {},
      want: { memory: 8 * GiB + PROMPTS },
    },
    {
      name: "more than was estimated counts as well",
      measured: [found({ perGpu: bytes(20 * GiB) })],
      has: one,
      want: { gpuMemory: Math.ceil(22 * GiB) },
    },
  ])("$name", ({ measured, has, want }) => {
    expect(booked(measured, has)).toMatchObject(want);
  });

  test.each([
    { name: "another build", measured: found({ engine: "llama.cpp b6" }) },
    { name: "another kind of GPU", measured: found({ gpuType: "H100" }) },
    { name: "more GPUs", measured: found({ gpus: 2 }) },
    { name: "the CPU", measured: found(onCpu) },
  ])("but not what was measured with $name", ({ measured }) => {
    expect(booked([measured], one)).toEqual(estimated);
  });

  test("where a node's GPUs differ, it is not known yet which it would be on", () => {
    const mixed = { gpus: [gpu("g0"), gpu("g1", { name: "T4" })] };
    expect(booked([found()], mixed)).toEqual(booked([], mixed));
  });

  test("what the profile names itself counts", () => {
    const named = profile("m", {
      context: 8192,
      resources: { nodes: 1, gpus: 1, gpuMemory: bytes(9 * GiB), memory: bytes(GiB) },
    });
    expect(booked([found()], one, named)).toEqual({ memory: GiB, gpuMemory: 9 * GiB });
  });
});

describe("an engine that fills its part of a GPU", () => {
  const vllm = profile("m", { context: 8192, engine: "vllm" });
  const has = {
    engines: [{ ...build("1")[0], name: "vllm" }] as Inventory["engines"],
    gpus: [gpu("g0", { memoryTotal: bytes(80 * GiB), memoryFree: bytes(80 * GiB) })],
  };
  const before = booked([], has, vllm);

  test("is not given more each time: only what it took beyond its part is added to the estimate", () => {
    const took = bytes(before.gpuMemory + 2 * GiB);
    const next = booked([found({ engine: "vllm 1", perGpu: took, beyond: bytes(2 * GiB) })], has, vllm);
    expect(next.gpuMemory).toBe(before.gpuMemory + 2 * GiB);
    const again = found({ engine: "vllm 1", perGpu: bytes(next.gpuMemory + 2 * GiB), beyond: bytes(2 * GiB) });
    expect(booked([again], has, vllm).gpuMemory).toBe(next.gpuMemory);
  });
});
