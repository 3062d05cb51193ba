import type { NewEvent } from "../core/event.ts";
import { measurementKey } from "../core/measured-memory.ts";
import type { Inventory } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica, ReplicaKind } from "../core/replica-state.ts";
import { sameValue } from "../core/same-value.ts";
import type { Changes, Snapshot, StoredNode } from "../store/store.ts";

/**
 * What a commit has to write to get from one snapshot to the other. Numbers that change all the time and are told again
 * anyway (progress, free memory, when a node was last seen) are no reason to write.
 */
export function changesBetween(before: Snapshot, after: Snapshot, events: readonly NewEvent[]): Changes {
  const profiles = compare(before.profiles, after.profiles, { key: ({ profile }) => profile.name, durable: same });
  const aliases = compare(before.aliases, after.aliases, { key: ({ alias }) => alias.name, durable: same });
  const upstreams = compare(before.upstreams, after.upstreams, { key: ({ upstream }) => upstream.name, durable: same });
  const specs = compare(before.specs, after.specs, { key: specKey, durable: same });
  const nodes = compare(before.nodes, after.nodes, { key: ({ id }) => id, durable: durableNode });
  const replicas = compare(before.replicas, after.replicas, { key: ({ id }) => id, durable: durableReplica });
  const models = compare(before.models, after.models, { key: ({ source }) => source, durable: same });
  const measurements = compare(before.measurements, after.measurements, { key: measurementKey, durable: same });
  const keys = compare(before.keys, after.keys, { key: ({ id }) => id, durable: same });
  const tokens = compare(before.tokens, after.tokens, { key: ({ id }) => id, durable: same });
  return {
    putProfiles: profiles.put,
    dropProfiles: profiles.drop.map(({ profile }) => profile.name),
    putAliases: aliases.put,
    dropAliases: aliases.drop.map(({ alias }) => alias.name),
    putUpstreams: upstreams.put,
    dropUpstreams: upstreams.drop.map(({ upstream }) => upstream.name),
    putSpecs: specs.put,
    dropSpecs: specs.drop,
    putNodes: nodes.put,
    dropNodes: nodes.drop.map(({ id }) => id),
    putReplicas: replicas.put,
    dropReplicas: replicas.drop.map(({ id }) => id),
    putModels: models.put,
    dropModels: models.drop.map(({ source }) => source),
    putMeasurements: measurements.put,
    dropMeasurements: measurements.drop.map(measurementKey),
    putKeys: keys.put,
    putTokens: tokens.put,
    dropTokens: tokens.drop.map(({ id }) => id),
    events,
  };
}

export function isEmpty(changes: Changes): boolean {
  const lists: readonly (readonly unknown[])[] = Object.values(changes);
  return lists.every((list) => list.length === 0);
}

export const specKey = ({ profile, specHash }: Pick<Replica, "profile" | "specHash">): string =>
  `${profile} ${specHash}`;

/** What replicas are made of, by {@link specKey}. */
export const specsByKey = ({ specs }: Pick<Snapshot, "specs">): ReadonlyMap<string, Profile> =>
  new Map(specs.map((stored) => [specKey(stored), stored.spec]));

const same = <T>(value: T): T => value;

interface Comparison<T> {
  readonly key: (item: T) => string;
  /** The part that is worth a write. */
  readonly durable: (item: T) => unknown;
}

function compare<T>(
  before: readonly T[],
  after: readonly T[],
  { key, durable }: Comparison<T>,
): { readonly put: readonly T[]; readonly drop: readonly T[] } {
  if (before === after) return { put: [], drop: [] };
  // Most are the same objects, and cost no more than that.
  const gone = new Set(before);
  const changed = after.filter((item) => !gone.delete(item));
  const old = new Map([...gone].map((item) => [key(item), item]));
  const put = changed.filter((item) => {
    const was = old.get(key(item));
    old.delete(key(item));
    return was === undefined || !sameValue(durable(was), durable(item));
  });
  return { put, drop: [...old.values()] };
}

// What is undefined is left out of the comparison.
const durableNode = (node: StoredNode): unknown => ({
  ...node,
  lastSeen: undefined,
  inventory: durableInventory(node.inventory),
});

const durableInventory = (inventory: Inventory): unknown => ({
  ...inventory,
  memoryAvailable: undefined,
  disks: inventory.disks.map(({ path, total }) => ({ path, total })),
  gpus: inventory.gpus.map((gpu) => ({ ...gpu, memoryFree: undefined })),
});

const CHATTY: readonly ReplicaKind[] = ["pending", "preparing", "starting"];

const durableReplica = ({ state, gang, ...replica }: Replica): unknown => ({
  ...replica,
  ...(gang === undefined ? {} : { gang: { ...gang, ranks: undefined } }),
  state: CHATTY.includes(state.kind) ? state.kind : state,
});
