import { expect, test } from "vitest";
import type { DesiredReplica } from "../core/desired.ts";
import { millis, profileName, replicaId } from "../core/ids.ts";
import { type AdoptionDecision, type AdoptionEvidence, decideAdoption, type LaunchRecord } from "./adopt.ts";

const replica: DesiredReplica = {
  id: replicaId("chat-1"),
  profile: profileName("chat"),
  specHash: "h1",
  serves: ["chat"],
  engine: "llama.cpp",
  model: { source: "file:/m.gguf", files: [], sha256: {} },
  context: undefined,
  args: [],
  env: {},
  gpus: [],
  apiKey: "k",
  startTimeout: millis(1000),
  generation: 1,
};
const process = { pid: 42, startTicks: 777 };
const record: LaunchRecord = {
  launchId: "l",
  bootId: "boot-a",
  replica,
  endpoint: { host: "127.0.0.1", port: 41_000 },
  probeHost: "127.0.0.1",
  engine: { name: "llama.cpp", version: "b1" },
  process,
  keeper: { pid: 41, startTicks: 776 },
  cgroups: ["/sys/fs/cgroup/llmgw-l"],
  hashes: { argv: "a", env: "e" },
  capacity: { slots: 4, context: 2048 },
  launches: 1,
  logOffset: 0,
  startedAt: millis(0),
};
const ours: AdoptionEvidence = {
  record,
  bootId: "boot-a",
  process: { kind: "alive", process },
  wanted: { kind: "yes", specHash: "h1", generation: 1 },
};
const recycled = { kind: "alive", process: { pid: 42, startTicks: 778 } } as const;
const no = { kind: "no" } as const;

const cases: readonly {
  name: string;
  change: Partial<AdoptionEvidence>;
  want: AdoptionDecision["kind"];
  as?: "ready" | "starting";
}[] = [
  { name: "ours, wanted, had proven itself", change: {}, want: "adopt", as: "ready" },
  {
    name: "still loading when the agent ended",
    change: { record: { ...record, capacity: undefined } },
    want: "adopt",
    as: "starting",
  },
  {
    name: "control plane not asked yet: keep serving",
    change: { wanted: { kind: "notAskedYet" } },
    want: "adopt",
    as: "ready",
  },
  {
    name: "the agent ended right after the spawn: found by its mark",
    change: { record: { ...record, process: undefined, capacity: undefined } },
    want: "adopt",
    as: "starting",
  },
  {
    name: "the agent ended before the spawn",
    change: { record: { ...record, process: undefined }, process: { kind: "gone" } },
    want: "forget",
  },
  {
    name: "an unreadable /proc is no proof of death",
    change: { process: { kind: "unknown", why: "EACCES" }, wanted: no },
    want: "wait",
  },
  { name: "an unknown boot proves nothing", change: { bootId: undefined, process: { kind: "gone" } }, want: "wait" },
  { name: "exited while the agent was down", change: { process: { kind: "gone" } }, want: "forget" },
  { name: "B25 a zombie is dead", change: { process: { kind: "zombie" } }, want: "forget" },
  { name: "a recycled pid: never signal a stranger", change: { process: recycled, wanted: no }, want: "forget" },
  { name: "B21 another boot: equal pid and ticks prove nothing", change: { bootId: "boot-b" }, want: "forget" },
  {
    name: "B21 another boot and unwanted: nothing is signalled",
    change: { bootId: "boot-b", wanted: no },
    want: "forget",
  },
  {
    name: "B22 the engine is dead, whoever may answer on its port",
    change: { process: { kind: "gone" }, wanted: { kind: "notAskedYet" } },
    want: "forget",
  },
  { name: "deleted while the agent was down", change: { wanted: no }, want: "stop" },
  {
    name: "spec changed while the agent was down",
    change: { wanted: { kind: "yes", specHash: "h2", generation: 1 } },
    want: "stop",
  },
  {
    name: "restart ordered while the agent was down",
    change: { wanted: { kind: "yes", specHash: "h1", generation: 2 } },
    want: "stop",
  },
];

test.each(cases)("$name", ({ change, want, as }) => {
  const decision = decideAdoption({ ...ours, ...change });
  expect(decision.kind).toBe(want);
  if (decision.kind === "adopt") expect(decision.resumeAs).toBe(as);
});
