import { changesBetween } from "../../src/control/changes.ts";
import { millis } from "../../src/core/ids.ts";
import type { Inventory } from "../../src/core/node.ts";
import { type Profile, specHash } from "../../src/core/profile.ts";
import type { Changes, Snapshot, StoredNode, StoredProfile, StoredSpec } from "../../src/store/store.ts";
import { node } from "./values.ts";

// What a store remembers, as plain values for tests.

export const snapshot = (more: Partial<Snapshot> = {}): Snapshot => ({
  revision: 1,
  serverId: "server",
  profiles: [],
  aliases: [],
  upstreams: [],
  specs: [],
  nodes: [],
  replicas: [],
  models: [],
  measurements: [],
  keys: [],
  tokens: [],
  ...more,
});

export const noChanges: Changes = changesBetween(snapshot(), snapshot(), []);

export const stored = (profile: Profile): StoredProfile => ({
  profile,
  manifest: "{}",
  createdAt: millis(100_000),
  updatedAt: millis(100_000),
  revisions: [
    {
      number: 1,
      profile,
      manifest: "{}",
      at: millis(100_000),
      origin: "apply",
      outcome: "underway",
      why: "",
    },
  ],
});

export const storedSpec = (spec: Profile): StoredSpec => ({ profile: spec.name, specHash: specHash(spec), spec });

export const storedNode = (id: string, more: Partial<StoredNode> = {}, has: Partial<Inventory> = {}): StoredNode => ({
  ...node(id, has),
  desiredRevision: 1,
  desiredHash: "as it is",
  ...more,
});
