import {
  create,
  type DescMessage,
  fromBinary,
  fromJson,
  type MessageShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DesiredState } from "../core/desired.ts";
import { bytes, gpuUuid, millis, profileName, replicaId } from "../core/ids.ts";
import { type EngineOrigin, type Inventory, LINK_KINDS } from "../core/node.ts";
import type { ObservedReplica, ObservedReplicaState, ObservedState } from "../core/observed.ts";
import type { Progress } from "../core/replica-state.ts";
import type { ReplicaRoute, RouteTable } from "../core/route.ts";
import { desiredFromWire, desiredToWire } from "./desired.ts";
import {
  DesiredReplicaSchema,
  DesiredStateSchema,
  ObservedReplicaSchema,
  ObservedStateSchema,
  SessionRequestSchema,
} from "./gen/llmgw/v1/agent_pb.js";
import { EngineBuildSchema, InventorySchema, ProgressSchema } from "./gen/llmgw/v1/common_pb.js";
import { RouteTableSchema } from "./gen/llmgw/v1/router_pb.js";
import { inventoryFromWire, inventoryToWire } from "./inventory.ts";
import { observedFromWire, observedToWire } from "./observed.ts";
import { progressFromWire, progressToWire } from "./progress.ts";
import { routeTableFromWire, routeTableToWire } from "./routes.ts";

const text = fc.string({ unit: "binary" });
const words = fc.string({ unit: "binary", minLength: 1 });
const texts = fc.array(text, { maxLength: 4 });
const map = fc.dictionary(fc.oneof(text, fc.constantFrom("__proto__", "constructor")), text, {
  maxKeys: 4,
  noNullPrototype: true,
});
const uint = fc.nat({ max: 0xffff_ffff });
const positive = fc.integer({ min: 1, max: 0xffff_ffff });
const port = fc.integer({ min: 1, max: 65_535 });
const size = fc.nat({ max: Number.MAX_SAFE_INTEGER }).map(bytes);
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

const gpu = fc.record({
  uuid: text.map(gpuUuid),
  index: uint,
  name: text,
  memoryTotal: size,
  memoryFree: size,
  unified: fc.boolean(),
  problem: optional(words),
  driverVersion: text,
  computeCapability: text,
  pciBusId: text,
  numaNode: optional(uint),
  links: fc.array(fc.record({ to: text.map(gpuUuid), kind: fc.constantFrom(...LINK_KINDS), lanes: uint }), {
    maxLength: 3,
  }),
  parent: optional(words.map(gpuUuid)),
});

const fabricPort = fc.record({
  hca: text,
  port: uint,
  state: text,
  linkLayer: text,
  rateGbps: fc.double({ noNaN: true }),
  pciBusId: text,
  numaNode: optional(uint),
  addresses: texts,
});

const inventory: fc.Arbitrary<Inventory> = fc.record({
  hostname: text,
  address: text,
  agentVersion: text,
  os: text,
  arch: text,
  cpus: uint,
  memoryTotal: size,
  memoryAvailable: size,
  disks: fc.array(fc.record({ path: text, total: size, free: size }), { maxLength: 3 }),
  gpus: fc.array(gpu, { maxLength: 4 }),
  engines: fc.array(
    fc.record({
      name: text,
      version: text,
      origin: fc.constantFrom<EngineOrigin>("configured", "path", "opt", "installed"),
      path: text,
      devices: texts,
    }),
    { maxLength: 3 },
  ),
  weights: fc.array(fc.record({ source: text, path: text, bytes: size }), { maxLength: 3 }),
  fabrics: fc.array(
    fc.record({
      name: text,
      hcas: texts,
      rateGbps: uint,
      ports: fc.array(fabricPort, { maxLength: 3 }),
      problem: optional(words),
    }),
    { maxLength: 3 },
  ),
  labels: map,
  problems: texts,
  notes: texts,
});

const desired: fc.Arbitrary<DesiredState> = fc.record({
  revision: uint,
  replicas: fc.array(
    fc
      .record({
        id: text.map(replicaId),
        profile: text.map(profileName),
        specHash: text,
        serves: texts,
        engine: words,
        model: fc.record({ source: text, files: texts, sha256: map }),
        context: optional(positive),
        args: texts,
        env: map,
        gpus: fc.array(text.map(gpuUuid), { maxLength: 4 }),
        apiKey: text,
        startTimeout: uint.map(millis),
        generation: uint,
      })
      .map((one) => (one.generation === 0 ? one : { ...one, gpuMemory: bytes(one.generation) })),
    { maxLength: 3 },
  ),
  engines: fc.dictionary(text, fc.record({ version: text, source: text }), { maxKeys: 3, noNullPrototype: true }),
  weightsConcurrency: uint,
});

const progress: fc.Arbitrary<Progress> = fc.record({
  what: text,
  bytesDone: size,
  bytesTotal: size,
  bytesPerSecond: fc.double({ noNaN: true }),
});

const endpoint = fc.record({ host: words, port, tlsSha256: words }, { requiredKeys: ["host", "port"] });

const observedReplicaState: fc.Arbitrary<ObservedReplicaState> = fc.oneof(
  fc.record({ kind: fc.constant("preparing" as const), progress: optional(progress) }),
  fc.record({ kind: fc.constant("starting" as const), note: text }),
  fc.record({ kind: fc.constant("ready" as const), endpoint, slots: uint, context: uint, engine: text }),
  fc.constant({ kind: "stopped" as const }),
  fc.record({ kind: fc.constant("stopping" as const), note: words }, { requiredKeys: ["kind"] }),
  fc.record({ kind: fc.constant("failed" as const), reason: text, lastLines: texts }),
);

const observed: fc.Arbitrary<ObservedState> = fc.record({
  revision: uint,
  replicas: fc.array(
    fc.record({
      id: text.map(replicaId),
      profile: text.map(profileName),
      specHash: text,
      state: observedReplicaState,
      restarts: uint,
      pid: optional(positive),
    }),
    { maxLength: 4 },
  ),
});

const route: fc.Arbitrary<ReplicaRoute> = fc
  .record({ id: text.map(replicaId), host: text, port: uint, apiKey: text, slots: uint })
  .chain((replica) =>
    fc.oneof(
      fc.constant(replica),
      fc
        .uniqueArray(fc.constantFrom("chat" as const, "messages" as const), { minLength: 1 })
        .map((apis) => ({ ...replica, apis })),
      words.map((tlsSha256) => ({ ...replica, tlsSha256 })),
      fc.record({ base: text, tls: fc.boolean(), ca: text }).map((upstream) => ({ ...replica, upstream })),
    ),
  );

const routes: fc.Arbitrary<RouteTable> = fc.record({
  revision: uint,
  models: fc.array(
    fc.record({
      name: text,
      profile: text.map(profileName),
      replicas: fc.array(route, {
        maxLength: 3,
      }),
      created: uint,
      waitingFor: text,
      waitSeconds: uint,
    }),
    { maxLength: 3 },
  ),
});

interface Conversion<T, D extends DescMessage> {
  readonly values: fc.Arbitrary<T>;
  readonly schema: D;
  readonly toWire: (value: T) => MessageShape<D>;
  readonly fromWire: (message: MessageShape<D>) => T;
}

function comesBack<T, D extends DescMessage>({ values, schema, toWire, fromWire }: Conversion<T, D>): void {
  fc.assert(
    fc.property(values, (value) => {
      const message = toWire(value);
      expect(fromWire(fromBinary(schema, toBinary(schema, message)))).toEqual(value);
      expect(fromWire(fromJson(schema, toJson(schema, message)))).toEqual(value);
    }),
  );
}

describe("core → message → bytes or JSON → message → core changes nothing", () => {
  test("inventory", () => {
    comesBack({ values: inventory, schema: InventorySchema, toWire: inventoryToWire, fromWire: inventoryFromWire });
  });
  test("desired state", () => {
    comesBack({ values: desired, schema: DesiredStateSchema, toWire: desiredToWire, fromWire: desiredFromWire });
  });
  test("observed state", () => {
    comesBack({ values: observed, schema: ObservedStateSchema, toWire: observedToWire, fromWire: observedFromWire });
  });
  test("progress", () => {
    comesBack({ values: progress, schema: ProgressSchema, toWire: progressToWire, fromWire: progressFromWire });
  });
  test("route table", () => {
    comesBack({ values: routes, schema: RouteTableSchema, toWire: routeTableToWire, fromWire: routeTableFromWire });
  });
});

/** What protobuf says of the bytes is its own affair; what it accepts must be read without a throw. */
function readable<D extends DescMessage>(schema: D, fromWire: (message: MessageShape<D>) => unknown): void {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
      let message: MessageShape<D>;
      try {
        message = fromBinary(schema, noise);
      } catch {
        return;
      }
      fromWire(message);
    }),
    { numRuns: 2_000 },
  );
}

describe("any bytes that protobuf accepts are read", () => {
  test("inventory", () => {
    readable(InventorySchema, inventoryFromWire);
  });
  test("desired state", () => {
    readable(DesiredStateSchema, desiredFromWire);
  });
  test("observed state", () => {
    readable(ObservedStateSchema, observedFromWire);
  });
  test("progress", () => {
    readable(ProgressSchema, progressFromWire);
  });
  test("route table", () => {
    readable(RouteTableSchema, routeTableFromWire);
  });
  test("bytes cut short, and with a byte changed", () => {
    const cutOrChanged = fc.tuple(observed, fc.nat(), fc.nat({ max: 255 }), fc.boolean());
    fc.assert(
      fc.property(cutOrChanged, ([value, at, byte, cut]) => {
        const whole = toBinary(ObservedStateSchema, observedToWire(value));
        const index = whole.length === 0 ? 0 : at % whole.length;
        const spoilt = cut || whole.length === 0 ? whole.slice(0, index) : whole.with(index, byte);
        let message;
        try {
          message = fromBinary(ObservedStateSchema, spoilt);
        } catch {
          return;
        }
        observedFromWire(message);
      }),
    );
  });
});

describe("messages of another version", () => {
  const observedState = (change: object): ObservedReplicaState | undefined => {
    const message = create(ObservedStateSchema, { replicas: [create(ObservedReplicaSchema, { id: "r1", ...change })] });
    return observedFromWire(message).replicas[0]?.state;
  };

  test("a state that this server does not know reads as starting, with a note", () => {
    const state = observedState({});
    expect(state).toMatchObject({ kind: "starting", note: expect.stringContaining("does not know") as string });
  });

  test.each([
    { name: "no endpoint", value: { slots: 4 } },
    { name: "no port", value: { endpoint: { host: "10.0.0.7", port: 0 } } },
    { name: "no host", value: { endpoint: { host: "", port: 41_000 } } },
  ])("ready with $name cannot be routed to and reads as starting", ({ value }) => {
    expect(observedState({ state: { case: "ready", value } })).toMatchObject({ kind: "starting" });
  });

  test.each([
    { sent: "", read: "auto" },
    { sent: "llama.cpp", read: "llama.cpp" },
    // Kept, so that the node can say that it cannot run it: another engine would not be what was asked for.
    { sent: "an-engine-of-next-year", read: "an-engine-of-next-year" },
  ])("the engine name $sent reads as $read", ({ sent, read }) => {
    const message = create(DesiredStateSchema, {
      replicas: [create(DesiredReplicaSchema, { id: "r1", engine: sent })],
    });
    expect(desiredFromWire(message).replicas[0]?.engine).toBe(read);
  });

  test("an engine build of unknown origin is the least preferred", () => {
    const message = create(InventorySchema, { engines: [create(EngineBuildSchema, { origin: "snap" })] });
    expect(inventoryFromWire(message).engines[0]?.origin).toBe("installed");
  });

  test("a link of an unknown kind is an unknown link", () => {
    const message = create(InventorySchema, { gpus: [{ links: [{ to: "GPU-b", kind: "c2c", lanes: 10 }] }] });
    expect(inventoryFromWire(message).gpus[0]?.links).toEqual([{ to: "GPU-b", kind: "unknown", lanes: 10 }]);
  });

  test("an empty message has every default", () => {
    expect(desiredFromWire(create(DesiredStateSchema))).toEqual({
      revision: 0,
      replicas: [],
      engines: {},
      weightsConcurrency: 0,
    });
    expect(desiredFromWire(create(DesiredStateSchema, { replicas: [{}] })).replicas).toEqual([
      {
        id: "",
        profile: "",
        specHash: "",
        serves: [],
        engine: "auto",
        model: { source: "", files: [], sha256: {} },
        context: undefined,
        args: [],
        env: {},
        gpus: [],
        apiKey: "",
        startTimeout: 0,
        generation: 0,
      },
    ]);
  });

  test("a body of a newer agent is no body at all", () => {
    // Field 15, length-delimited, two bytes: no case of ours.
    const message = fromBinary(SessionRequestSchema, new Uint8Array([(15 << 3) | 2, 2, 8, 1]));
    expect(message.body.case).toBeUndefined();
  });
});

describe("values that a field cannot carry are brought to the nearest that it can", () => {
  const replica = (change: Partial<ObservedReplica>): ObservedReplica => ({
    id: replicaId("r1"),
    profile: profileName("p"),
    specHash: "h",
    state: { kind: "stopped" },
    restarts: 0,
    pid: undefined,
    ...change,
  });
  const sent = (one: ObservedReplica): ObservedReplica | undefined => {
    const message = observedToWire({ revision: 0, replicas: [one] });
    expect(() => fromJson(ObservedStateSchema, toJson(ObservedStateSchema, message))).not.toThrow();
    return observedFromWire(fromBinary(ObservedStateSchema, toBinary(ObservedStateSchema, message))).replicas[0];
  };

  test.each([
    { name: "too great", restarts: 2 ** 40, want: 2 ** 32 - 1 },
    { name: "negative", restarts: -1, want: 0 },
    { name: "a fraction", restarts: 2.9, want: 2 },
    { name: "not a number", restarts: NaN, want: 0 },
    { name: "endless", restarts: Infinity, want: 2 ** 32 - 1 },
  ])("$name", ({ restarts, want }) => {
    expect(sent(replica({ restarts }))?.restarts).toBe(want);
  });

  test("a line cut in the middle of a character", () => {
    const half = "😀".slice(0, 1);
    const state = { kind: "failed" as const, reason: half, lastLines: [`ends with ${half}`] };
    expect(sent(replica({ state }))?.state).toEqual({
      kind: "failed",
      reason: "\ufffd",
      lastLines: ["ends with \ufffd"],
    });
  });
});
