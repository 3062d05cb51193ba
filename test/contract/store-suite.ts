import { describe, expect, test } from "vitest";
import type { StoredAlias } from "../../src/core/alias.ts";
import { bytes, millis, nodeId, profileName, replicaId } from "../../src/core/ids.ts";
import { type Measurement, measurementKey } from "../../src/core/measured-memory.ts";
import type { LookedModel } from "../../src/core/model-facts.ts";
import type { Profile } from "../../src/core/profile.ts";
import type { Replica } from "../../src/core/replica-state.ts";
import type { StoredUpstream } from "../../src/core/upstream.ts";
import type { AccessToken } from "../../src/core/access-token.ts";
import { noChanges, snapshot } from "../fakes/snapshots.ts";
import { facts } from "../fakes/values.ts";
import type { Store, StoredKey, StoredNode, StoredProfile } from "../../src/store/store.ts";

const now = millis(1_700_000_000_000);

const spec: Profile = {
  name: profileName("smol"),
  serves: ["smol", "default"],
  model: { source: "hf:a/b", files: ["*.gguf"], sha256: { "m.gguf": "ab" } },
  engine: "auto",
  replicas: { kind: "range", min: 0, max: 4, targetInFlight: 8, idle: millis(600_000) },
  resources: { gpus: 1, gpuMemory: bytes(2 ** 40), nodes: 1 },
  parallel: { tensor: 1, pipeline: 1 },
  nodeSelector: { rack: "r12" },
  adapters: {},
  args: ['--x {"a": 1}'],
  env: { A: "ü\u2028" },
  startTimeout: millis(1_800_000),
  rollout: { surge: 1, unavailable: 0, drain: millis(300_000) },
};

const profile: StoredProfile = {
  profile: spec,
  manifest: '{"kind":"Profile"}',
  createdAt: now,
  updatedAt: now,
  revisions: [
    { number: 7, profile: spec, manifest: "{}", at: now, origin: "undo", outcome: "failed", why: 'it said "no"' },
  ],
};

const replica: Replica = {
  id: replicaId("smol-1"),
  profile: spec.name,
  specHash: "h1",
  state: { kind: "failed", reason: "no such model", lastLines: ["a", "b"] },
  placement: { node: nodeId("n1"), gpus: [], memory: bytes(1), gpuMemory: bytes(0) },
  apiKey: "k",
  restarts: 3,
  pid: undefined,
  generation: 1,
  createdAt: now,
  since: now,
};

const node: StoredNode = {
  id: nodeId("n1"),
  inventory: {
    hostname: "n1",
    address: "10.0.0.1",
    agentVersion: "1",
    os: "linux",
    arch: "x64",
    cpus: 2,
    memoryTotal: bytes(8),
    memoryAvailable: bytes(4),
    disks: [],
    gpus: [],
    engines: [],
    weights: [],
    fabrics: [],
    labels: { rack: "r12" },
    problems: [],
    notes: [],
  },
  liveness: "connected",
  cordoned: false,
  joinedAt: now,
  lastSeen: now,
  desiredRevision: 7,
  desiredHash: "d",
};

const model: LookedModel = { source: "hf:a/b", facts: facts(), weights: bytes(7), problem: "" };
const measurement: Measurement = {
  ...{ source: "hf:a/b", engine: "llama.cpp b1", launch: "l", gpuType: "T4", gpus: 1 },
  ...{ host: bytes(1), perGpu: bytes(2), beyond: bytes(0), at: now },
};
const key: StoredKey = {
  id: "key-1",
  name: "app",
  prefix: "sk-llmgw-abc",
  sha256: "ff",
  models: ["smol"],
  limits: { requestsPerMinute: 1, tokensPerMinute: 2, concurrency: 3, tokensPerDay: 4, tokensPerMonth: 5 },
  expiresAt: now,
  createdAt: now,
  createdBy: "somebody",
  revokedAt: now,
};

const token: AccessToken = {
  id: "token-1",
  prefix: "llmgw-join-abc",
  sha256: "ee",
  grant: { kind: "join", node: undefined, uses: 2, claims: [{ node: nodeId("n1"), key: "", at: now }] },
  createdAt: now,
  createdBy: "somebody",
  expiresAt: now,
  revokedAt: undefined,
};

const alias: StoredAlias = {
  alias: { name: "chat", targets: [{ profile: spec.name, weight: 0.5 }], fallback: [profileName("other")] },
  createdAt: now,
  updatedAt: now,
};

const upstream: StoredUpstream = {
  upstream: {
    ...{ name: "cloud", url: "https://api.example/v1", keyFile: "/k", caFile: "/c", concurrency: 4 },
    models: [{ name: "big", remote: "org/big" }],
  },
  createdAt: now,
  updatedAt: now,
};

const event = (subject: string) =>
  ({ level: "info", subjectKind: "node", subject, reason: "NodeJoined", message: `${subject} joined` }) as const;

/** A place that can be opened again and again, as a process does that is started again. */
interface StorePlace {
  open(): Promise<Store>;
}

/** What every store must do. `restarts`: what it holds outlives the one that opened it. */
export function storeSuite(
  name: string,
  makePlace: (keptEvents: number) => Promise<StorePlace>,
  restarts: boolean,
): void {
  const opened = async (keptEvents = 100): Promise<Store & StorePlace> => {
    const place = await makePlace(keptEvents);
    return Object.assign(await place.open(), place);
  };

  describe(`store: ${name}`, () => {
    test("a new one is empty and has a name of its own", async () => {
      const store = await opened();
      const { serverId, ...rest } = await store.load();
      expect({ ...rest, serverId: "" }).toEqual(snapshot({ revision: 0, serverId: "" }));
      expect(serverId).not.toBe("");
      await store.close();
    });

    test("gives back what was committed, value for value", async () => {
      const store = await opened();
      const committed = await store.commit(
        0,
        {
          ...noChanges,
          putProfiles: [profile],
          putAliases: [alias],
          putUpstreams: [upstream],
          putSpecs: [{ profile: spec.name, specHash: "h1", spec }],
          putNodes: [node],
          putReplicas: [replica],
          putModels: [model],
          putMeasurements: [measurement],
          putKeys: [key],
          putTokens: [token],
        },
        now,
      );
      expect(committed).toEqual({ ok: true, value: 1 });
      expect(await store.load()).toEqual({
        revision: 1,
        serverId: (await store.load()).serverId,
        profiles: [profile],
        aliases: [alias],
        upstreams: [upstream],
        specs: [{ profile: spec.name, specHash: "h1", spec }],
        nodes: [node],
        replicas: [replica],
        models: [model],
        measurements: [measurement],
        keys: [key],
        tokens: [token],
      });
      await store.close();
    });

    test("replaces and removes", async () => {
      const store = await opened();
      await store.commit(0, { ...noChanges, putProfiles: [profile], putNodes: [node], putReplicas: [replica] }, now);
      await store.commit(1, { ...noChanges, putNodes: [{ ...node, cordoned: true }], dropReplicas: [replica.id] }, now);
      expect(await store.load()).toMatchObject({ revision: 2, nodes: [{ cordoned: true }], replicas: [] });
      await store.commit(2, { ...noChanges, dropNodes: [node.id], putTokens: [token] }, now);
      await store.commit(3, { ...noChanges, dropProfiles: [spec.name], dropTokens: [token.id] }, now);
      expect(await store.load()).toMatchObject({ revision: 4, nodes: [], profiles: [], tokens: [] });
      await store.close();
    });

    test("what was measured is put in place of the older figure, kept in order of age, and forgotten by its key", async () => {
      const store = await opened();
      const newer = { ...measurement, engine: "llama.cpp b2", at: millis(now + 1) };
      await store.commit(0, { ...noChanges, putMeasurements: [newer, measurement] }, now);
      expect((await store.load()).measurements).toEqual([measurement, newer]);
      const again = { ...measurement, host: bytes(9), at: millis(now + 2) };
      await store.commit(1, { ...noChanges, putMeasurements: [again] }, now);
      expect((await store.load()).measurements).toEqual([newer, again]);
      await store.commit(2, { ...noChanges, dropMeasurements: [measurementKey(newer)] }, now);
      expect((await store.load()).measurements).toEqual([again]);
      await store.close();
    });

    test("what was decided on an older revision is refused whole", async () => {
      const store = await opened();
      await store.commit(0, { ...noChanges, putNodes: [node] }, now);
      const late = await store.commit(0, { ...noChanges, dropNodes: [node.id], events: [event("late")] }, now);
      expect(late).toEqual({ ok: false, error: "stale" });
      expect(await store.load()).toMatchObject({ revision: 1, nodes: [{ id: "n1" }] });
      expect(await store.events({ after: 0, limit: 10, subject: undefined })).toEqual([]);
      await store.close();
    });

    test("of two commits on one revision at the same time, one wins", async () => {
      const store = await opened();
      const results = await Promise.all([store.commit(0, noChanges, now), store.commit(0, noChanges, now)]);
      expect(results.map((result) => result.ok).toSorted()).toEqual([false, true]);
      await store.close();
    });

    test("events: numbered, filtered, the newest of too many, and the oldest make room", async () => {
      const store = await opened(5);
      for (let revision = 0; revision < 4; revision++) {
        await store.commit(revision, { ...noChanges, events: [event("a"), event("b")] }, now);
      }
      const all = await store.events({ after: 0, limit: 100, subject: undefined });
      expect(all.map(({ id }) => id)).toEqual([4, 5, 6, 7, 8]);
      expect(all[0]).toEqual({ id: 4, at: now, ...event("b") });
      const ofA = await store.events({ after: 5, limit: 100, subject: "a" });
      expect(ofA.map(({ id }) => id)).toEqual([7]);
      const newest = await store.events({ after: 0, limit: 2, subject: undefined });
      expect(newest.map(({ id }) => id)).toEqual([7, 8]);
      await store.close();
    });

    if (restarts)
      test("opened again, it is the same", async () => {
        const store = await opened();
        await store.commit(0, { ...noChanges, putProfiles: [profile], events: [event("a")] }, now);
        const before = await store.load();
        await store.close();
        const again = await store.open();
        expect(await again.load()).toEqual(before);
        expect(await again.events({ after: 0, limit: 10, subject: undefined })).toHaveLength(1);
        await again.close();
      });
  });
}
