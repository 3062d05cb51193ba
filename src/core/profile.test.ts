import { describe, expect, test } from "vitest";
import { bytes, millis, profileName } from "./ids.ts";
import { baseCount, type Profile, specHash } from "./profile.ts";

const profile: Profile = {
  name: profileName("smollm2"),
  serves: ["smollm2"],
  model: { source: "hf:org/repo", files: ["*.gguf"], sha256: {} },
  engine: "auto",
  replicas: { kind: "fixed", count: 1 },
  resources: { nodes: 1 },
  parallel: { tensor: 1, pipeline: 1 },
  nodeSelector: {},
  adapters: {},
  args: [],
  env: {},
  startTimeout: millis(60_000),
  rollout: { surge: 1, unavailable: 0, drain: millis(1_000) },
};

const restarts: readonly { name: string; change: Partial<Profile> }[] = [
  { name: "a served name", change: { serves: ["smollm2", "default"] } },
  { name: "the source", change: { model: { ...profile.model, source: "hf:org/other" } } },
  { name: "which files", change: { model: { ...profile.model, files: [] } } },
  { name: "a pin", change: { model: { ...profile.model, sha256: { "model.gguf": "ab" } } } },
  { name: "the engine", change: { engine: "llama.cpp" } },
  { name: "the GPUs", change: { resources: { nodes: 1, gpus: 1 } } },
  { name: "the memory", change: { resources: { nodes: 1, memory: bytes(1) } } },
  { name: "the parallelism", change: { parallel: { tensor: 2, pipeline: 1 } } },
  { name: "the context", change: { context: 2048 } },
  { name: "an adapter", change: { adapters: { bot: "hf:org/lora" } } },
  { name: "an argument", change: { args: ["--embeddings"] } },
  { name: "a variable", change: { env: { A: "1" } } },
];

const restartsNothing: readonly { name: string; change: Partial<Profile> }[] = [
  { name: "how many", change: { replicas: { kind: "fixed", count: 5 } } },
  { name: "where", change: { nodeSelector: { rack: "r12" } } },
  { name: "how long a start may take", change: { startTimeout: millis(1) } },
  { name: "how a change is rolled out", change: { rollout: { surge: 2, unavailable: 1, drain: millis(5) } } },
];

describe("the hash of what runs", () => {
  test.each(restarts)("$name changes it", ({ change }) => {
    expect(specHash({ ...profile, ...change })).not.toBe(specHash(profile));
  });

  test.each(restartsNothing)("$name does not change it", ({ change }) => {
    expect(specHash({ ...profile, ...change })).toBe(specHash(profile));
  });

  test("the same profile built in another order has the same hash", () => {
    const reversed = Object.fromEntries(Object.entries(profile).toReversed()) as unknown as Profile;
    expect(specHash(reversed)).toBe(specHash(profile));
  });

  test("the order of arguments matters, that of variables does not", () => {
    expect(specHash({ ...profile, args: ["a", "b"] })).not.toBe(specHash({ ...profile, args: ["b", "a"] }));
    expect(specHash({ ...profile, env: { A: "1", B: "2" } })).toBe(specHash({ ...profile, env: { B: "2", A: "1" } }));
  });
});

test.each([
  { replicas: { kind: "fixed", count: 3 } as const, want: 3 },
  { replicas: { kind: "range", min: 0, max: 4, targetInFlight: 8, idle: millis(1) } as const, want: 0 },
])("$replicas asks for $want at first", ({ replicas, want }) => {
  expect(baseCount(replicas)).toBe(want);
});
