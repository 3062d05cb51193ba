import { fromBinary, toBinary, toJsonString } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytes, gpuUuid, millis, nodeId, profileName, replicaId } from "../core/ids.ts";
import { type Replica, REPLICA_TRAITS, type ReplicaKind, type ReplicaState } from "../core/replica-state.ts";
import { ReplicaSchema } from "./gen/llmgw/v1/admin_pb.js";
import { replicaReason } from "./replica-reason.ts";
import { replicaToWire } from "./replica.ts";

const MIB = 1024 * 1024;
const endpoint = { host: "10.0.0.7", port: 41_000 };
const no = (node: string, reason: string) => ({ node: nodeId(node), filter: "memory", reason });
const progress = (done: number, total: number, rate: number) => ({
  what: "fetching model.gguf",
  bytesDone: bytes(done * MIB),
  bytesTotal: bytes(total * MIB),
  bytesPerSecond: rate * MIB,
});

interface ReasonCase {
  readonly name: string;
  readonly state: ReplicaState;
  readonly inFlight?: number;
  readonly want: string;
}

const reasons: readonly ReasonCase[] = [
  {
    name: "pending, not looked at yet",
    state: { kind: "pending", rejections: [] },
    want: "no node has joined yet",
  },
  {
    name: "pending, one node says no",
    state: { kind: "pending", rejections: [no("gpu01", "needs 70 GiB, 24 GiB are free")] },
    want: "no node takes it: gpu01: needs 70 GiB, 24 GiB are free",
  },
  {
    name: "pending, two nodes say no",
    state: { kind: "pending", rejections: [no("gpu01", "is cordoned"), no("gpu02", "is lost")] },
    want: "no node takes it: gpu01: is cordoned; and 1 more node says no",
  },
  {
    name: "pending, three nodes say no",
    state: { kind: "pending", rejections: [no("a", "is cordoned"), no("b", "is lost"), no("c", "is lost")] },
    want: "no node takes it: a: is cordoned; and 2 more nodes say no",
  },
  { name: "placed", state: { kind: "placed" }, want: "waiting for its node to begin" },
  {
    name: "preparing, nothing known",
    state: { kind: "preparing", progress: undefined },
    want: "its node is getting the engine and the weights",
  },
  {
    name: "preparing, everything known",
    state: { kind: "preparing", progress: progress(50, 200, 2) },
    want: "fetching model.gguf: 25% of 200 MiB, 2.0 MiB/s, 1m15s left",
  },
  {
    name: "preparing, the source does not say how much",
    state: { kind: "preparing", progress: progress(50, 0, 2) },
    want: "fetching model.gguf: 50 MiB so far, 2.0 MiB/s",
  },
  {
    name: "preparing, standing still",
    state: { kind: "preparing", progress: progress(50, 200, 0) },
    want: "fetching model.gguf: 25% of 200 MiB",
  },
  {
    name: "preparing, nothing to count",
    state: { kind: "preparing", progress: progress(0, 0, 0) },
    want: "fetching model.gguf",
  },
  {
    name: "preparing, all but done is not 100%",
    state: { kind: "preparing", progress: progress(199.9, 200, 0) },
    want: "fetching model.gguf: 99% of 200 MiB",
  },
  {
    name: "preparing, more than was announced",
    state: { kind: "preparing", progress: progress(300, 200, 1) },
    want: "fetching model.gguf: 100% of 200 MiB, 1.0 MiB/s",
  },
  {
    name: "starting for the first time",
    state: { kind: "starting", note: "" },
    want: "the engine is starting and loading the model",
  },
  {
    name: "starting again",
    state: { kind: "starting", note: "exited with code 1; next try in 4s" },
    want: "exited with code 1; next try in 4s",
  },
  { name: "ready", state: { kind: "ready", endpoint, slots: 4, engine: "llama.cpp b11669" }, want: "serving" },
  {
    name: "draining, requests in flight",
    state: {
      kind: "draining",
      endpoint,
      slots: 4,
      deadline: millis(Date.UTC(2030, 0, 2, 3, 4, 5)),
      why: "scaled down",
    },
    inFlight: 2,
    want: "scaled down; waiting for 2 requests in flight, until 2030-01-02T03:04:05.000Z at the latest",
  },
  {
    name: "draining, one request in flight and no sane deadline",
    state: { kind: "draining", endpoint: undefined, slots: 4, deadline: millis(Infinity), why: "" },
    inFlight: 1,
    want: "waiting for 1 request in flight",
  },
  {
    name: "draining, nothing in flight",
    state: { kind: "draining", endpoint, slots: 4, deadline: millis(0), why: "profile deleted" },
    want: "profile deleted; waiting for the routers to let go of it",
  },
  {
    name: "stopping",
    state: { kind: "stopping", why: "profile deleted" },
    want: "profile deleted; waiting for the engine to end",
  },
  {
    name: "B19 stopping, with what its node waits for",
    state: { kind: "stopping", why: "profile deleted", note: "GPU memory still held by pid 9" },
    want: "profile deleted; GPU memory still held by pid 9",
  },
  { name: "stopping, no cause", state: { kind: "stopping", why: "" }, want: "waiting for the engine to end" },
  { name: "stopped", state: { kind: "stopped" }, want: "its node has stopped it" },
  {
    name: "failed",
    state: { kind: "failed", reason: "missing library libgomp.so.1", lastLines: [] },
    want: "missing library libgomp.so.1",
  },
  {
    name: "failed without a reason",
    state: { kind: "failed", reason: "", lastLines: [] },
    want: "failed, and its node did not say why",
  },
  { name: "lost", state: { kind: "lost", reason: "node gpu01 is lost" }, want: "node gpu01 is lost" },
  { name: "lost without a reason", state: { kind: "lost", reason: "" }, want: "its node is lost" },
];

describe("the reason of a replica", () => {
  test.each(reasons)("$name", ({ state, inFlight, want }) => {
    expect(replicaReason(state, inFlight ?? 0)).toBe(want);
  });

  test("every state is in the table above", () => {
    const inTable = new Set<ReplicaKind>(reasons.map(({ state }) => state.kind));
    expect([...inTable].toSorted()).toEqual(Object.keys(REPLICA_TRAITS).toSorted());
  });
});

const KEY = "sk-engine-0123456789abcdef";

const replica = (state: ReplicaState, change: Partial<Replica> = {}): Replica => ({
  id: replicaId("smollm2-x7k2p"),
  profile: profileName("smollm2"),
  specHash: "0123456789abcdef",
  state,
  placement: { node: nodeId("gpu01"), gpus: [gpuUuid("GPU-1")], memory: bytes(MIB), gpuMemory: bytes(0) },
  apiKey: KEY,
  restarts: 3,
  pid: 4242,
  generation: 1,
  createdAt: millis(1_000),
  since: millis(2_500),
  ...change,
});

describe("a replica as the admin API shows it", () => {
  test("ready", () => {
    const message = replicaToWire(replica({ kind: "ready", endpoint, slots: 4, engine: "llama.cpp b11669" }), 2);
    expect(fromBinary(ReplicaSchema, toBinary(ReplicaSchema, message))).toMatchObject({
      id: "smollm2-x7k2p",
      profile: "smollm2",
      state: "ready",
      node: "gpu01",
      endpoint,
      restarts: 3,
      specHash: "0123456789abcdef",
      since: { seconds: 2n, nanos: 500_000_000 },
      createdAt: { seconds: 1n, nanos: 0 },
      gpuUuids: ["GPU-1"],
      engine: "llama.cpp b11669",
      pid: 4242,
      inFlight: 2,
    });
  });

  test("pending: each node's own no, no node and no pid", () => {
    const state: ReplicaState = { kind: "pending", rejections: [no("gpu01", "is cordoned")] };
    const message = replicaToWire(replica(state, { placement: undefined, pid: undefined }), 0);
    expect(message).toMatchObject({ node: "", pid: 0, gpuUuids: [] });
    expect([message.endpoint, message.progress]).toEqual([undefined, undefined]);
    expect(message.rejections).toMatchObject([{ node: "gpu01", filter: "memory", reason: "is cordoned" }]);
  });

  test("preparing: how far it is", () => {
    const message = replicaToWire(replica({ kind: "preparing", progress: progress(1, 2, 0) }), 0);
    expect(message.progress).toMatchObject({ what: "fetching model.gguf", bytesDone: MIB, bytesTotal: 2 * MIB });
  });

  test("draining keeps its endpoint", () => {
    const state: ReplicaState = { kind: "draining", endpoint, slots: 1, deadline: millis(9), why: "scaled down" };
    expect(replicaToWire(replica(state), 1).endpoint).toMatchObject(endpoint);
  });

  test("failed: the engine's last lines", () => {
    const state: ReplicaState = { kind: "failed", reason: "exited with code 1", lastLines: ["loading", "no memory"] };
    expect(replicaToWire(replica(state), 0).lastLines).toEqual(["loading", "no memory"]);
  });
});

describe("the key of a replica is never shown", () => {
  test.each(reasons)("$name", ({ state }) => {
    expect(toJsonString(ReplicaSchema, replicaToWire(replica(state), 0))).not.toContain(KEY);
  });

  test("not even where the engine printed it", () => {
    const printed = `options: --port 41000 --api-key ${KEY} (${KEY})`;
    const failed = replicaToWire(replica({ kind: "failed", reason: printed, lastLines: [printed] }), 0);
    expect(failed.lastLines).toEqual(["options: --port 41000 --api-key [its key] ([its key])"]);
    expect(failed.reason).not.toContain(KEY);
    const starting = replicaToWire(replica({ kind: "starting", note: printed }), 0);
    expect(starting.reason).not.toContain(KEY);
  });

  test("a replica without a key is shown as it is", () => {
    const state: ReplicaState = { kind: "failed", reason: "exited", lastLines: ["a line"] };
    expect(replicaToWire(replica(state, { apiKey: "" }), 0).lastLines).toEqual(["a line"]);
  });
});

test("whatever the times and counts are, the message can be sent both ways", () => {
  const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(NaN, Infinity, -Infinity, 2 ** 53));
  fc.assert(
    fc.property(number, number, number, (at, count, deadline) => {
      const state: ReplicaState = { kind: "draining", endpoint, slots: 1, deadline: millis(deadline), why: "" };
      const times = { createdAt: millis(at), since: millis(at), restarts: count, pid: count };
      const message = replicaToWire(replica(state, times), count);
      fromBinary(ReplicaSchema, toBinary(ReplicaSchema, message));
      toJsonString(ReplicaSchema, message);
    }),
  );
});
