import { describe, expect, test } from "vitest";
import { snapshot, stored, storedNode, storedSpec } from "../../test/fakes/snapshots.ts";
import { facts, GiB, profile, ready, replica, offer } from "../../test/fakes/values.ts";
import { bytes, millis, nodeId } from "../core/ids.ts";
import { estimatesOf, explainName } from "./explain.ts";

const llama = profile("llama", { context: 8192, nodeSelector: { rack: "r12" } });
const weights = [{ source: llama.model.source, path: "/w/m.gguf", bytes: bytes(5 * GiB), facts: facts() }];
const placed = replica("llama-1", llama, ready, {
  on: "a",
  placement: { node: nodeId("a"), gpus: [], memory: bytes(8 * GiB), gpuMemory: bytes(0) },
});
const pending = replica("llama-2", llama, { kind: "pending", rejections: [] });

const cluster = snapshot({
  profiles: [stored(llama)],
  specs: [storedSpec(llama)],
  nodes: [
    storedNode("a", {}, { weights, labels: { rack: "r12" }, memoryAvailable: bytes(4 * GiB) }),
    storedNode("b", { cordoned: true }, {}),
  ],
  replicas: [placed, pending],
});

const known = { offer: offer("llama.cpp"), inFlight: () => 0, demands: new Map(), monotonic: millis(0) };
const explained = (name: string) => explainName(cluster, name, known);

describe("explain", () => {
  test("a profile: every rule of every node, and the parts of the estimate with where they are known from", () => {
    const answer = explained("llama");
    expect(answer).toMatchObject({
      profile: "llama",
      replica: "",
      state: "",
      basis: "header",
      origin: "from the model's header on node a",
      kvPerToken: 131_072,
      onCpu: { context: 8192, kvCache: GiB, weights: 5 * GiB, gpus: 0 },
    });
    expect(answer?.nodes.map(({ node, refusals }) => [node, refusals.map(({ rule }) => rule)])).toEqual([
      ["a", ["memory"]],
      ["b", ["cordoned", "selector"]],
    ]);
    expect(answer?.nodes[1]?.refusals.flatMap(({ changes }) => changes)).toEqual([
      "uncordon it",
      "give it the label rack=r12",
      "drop rack from node_selector",
    ]);
  });

  test("a replica: its state in words, and which node it is on", () => {
    expect(explained("llama-1")).toMatchObject({ replica: "llama-1", state: "ready", reason: "serving" });
    expect(explained("llama-1")?.nodes.map(({ here }) => here)).toEqual([true, false]);
    expect(explained("llama-2")?.nodes.map(({ here }) => here)).toEqual([false, false]);
  });

  test("an adapter: its profile, with what is loaded beside the model", () => {
    const tuned = profile("tuned", { adapters: { salty: "hf:acme/salty", kind: "hf:acme/kind" } });
    const salty = { source: "hf:acme/salty", path: "/w/salty", bytes: bytes(7) };
    const nodes = [storedNode("a", {}, { weights: [salty] })];
    expect(explainName(snapshot({ profiles: [stored(tuned)], nodes }), "salty", known)).toMatchObject({
      profile: "tuned",
      adapters: [
        { name: "kind", source: "hf:acme/kind", bytes: 0 },
        { name: "salty", source: "hf:acme/salty", bytes: 7 },
      ],
    });
  });

  test("nothing has that name", () => {
    expect(explained("lama")).toBeUndefined();
  });
});

test("each replica's estimate is of the place it has", () => {
  const onGpus = replica("llama-3", llama, ready, {
    placement: { node: nodeId("a"), gpus: [], memory: bytes(0), gpuMemory: bytes(0) },
  });
  expect(estimatesOf(cluster)(onGpus)?.estimate).toMatchObject({ gpus: 0, context: 8192 });
  expect(estimatesOf({ ...cluster, specs: [] })(onGpus)).toBeUndefined();
});
