import type { AccessToken } from "../core/access-token.ts";
import type { StoredAlias } from "../core/alias.ts";
import type { KeyGrant } from "../core/client-key.ts";
import type { ClusterEvent, NewEvent } from "../core/event.ts";
import type { Millis, NodeId, ProfileName, ReplicaId } from "../core/ids.ts";
import type { Measurement } from "../core/measured-memory.ts";
import type { LookedModel } from "../core/model-facts.ts";
import type { Inventory, NodeDrain, NodeLiveness } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica } from "../core/replica-state.ts";
import type { Result } from "../core/result.ts";
import type { Revision } from "../core/revision.ts";
import type { StoredUpstream } from "../core/upstream.ts";
import type { UsageStore } from "./usage.ts";

export interface StoredProfile {
  readonly profile: Profile;
  /** As it was applied, defaults left out, as JSON. */
  readonly manifest: string;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
  /** The oldest first; the last is what it is now. Never empty. */
  readonly revisions: readonly Revision[];
}

/** What a profile was when a replica was made of it: the replica's node needs it for as long as the replica is there. */
export interface StoredSpec {
  readonly profile: ProfileName;
  readonly specHash: string;
  readonly spec: Profile;
}

export interface StoredNode {
  readonly id: NodeId;
  readonly inventory: Inventory;
  readonly liveness: NodeLiveness;
  readonly cordoned: boolean;
  /** Left out: it is not being emptied. */
  readonly drain?: NodeDrain;
  readonly joinedAt: Millis;
  readonly lastSeen: Millis;
  /** Of the desired state: grows when its content changes. */
  readonly desiredRevision: number;
  /** Fingerprint of the content that `desiredRevision` stands for. */
  readonly desiredHash: string;
}

/** A client's key for as long as anybody may ask about it; one that was revoked stays to be listed. */
export interface StoredKey extends KeyGrant {
  /** The key's first characters. */
  readonly prefix: string;
  readonly createdAt: Millis;
  /** Who ordered it, in words. */
  readonly createdBy: string;
  readonly revokedAt: Millis | undefined;
}

/** Everything that is remembered, as it was at one revision. Lists are sorted by name or id. */
export interface Snapshot {
  /** Grows with each commit. */
  readonly revision: number;
  /** Made once, with the store. */
  readonly serverId: string;
  readonly profiles: readonly StoredProfile[];
  readonly aliases: readonly StoredAlias[];
  readonly upstreams: readonly StoredUpstream[];
  readonly specs: readonly StoredSpec[];
  readonly nodes: readonly StoredNode[];
  readonly replicas: readonly Replica[];
  /** What sources have said of models of the profiles. */
  readonly models: readonly LookedModel[];
  /** What engines were found to take, the oldest first. */
  readonly measurements: readonly Measurement[];
  readonly keys: readonly StoredKey[];
  readonly tokens: readonly AccessToken[];
}

/** What one commit alters. What is not named stays. */
export interface Changes {
  readonly putProfiles: readonly StoredProfile[];
  readonly dropProfiles: readonly ProfileName[];
  readonly putAliases: readonly StoredAlias[];
  /** By name. */
  readonly dropAliases: readonly string[];
  readonly putUpstreams: readonly StoredUpstream[];
  /** By name. */
  readonly dropUpstreams: readonly string[];
  readonly putSpecs: readonly StoredSpec[];
  readonly dropSpecs: readonly Pick<StoredSpec, "profile" | "specHash">[];
  readonly putNodes: readonly StoredNode[];
  readonly dropNodes: readonly NodeId[];
  readonly putReplicas: readonly Replica[];
  readonly dropReplicas: readonly ReplicaId[];
  readonly putModels: readonly LookedModel[];
  /** By source. */
  readonly dropModels: readonly string[];
  readonly putMeasurements: readonly Measurement[];
  /** By key. */
  readonly dropMeasurements: readonly string[];
  readonly putKeys: readonly StoredKey[];
  readonly putTokens: readonly AccessToken[];
  /** By id. */
  readonly dropTokens: readonly string[];
  readonly events: readonly NewEvent[];
}

export interface EventQuery {
  /** Only events with a greater id. */
  readonly after: number;
  /** The newest ones that match, oldest first. */
  readonly limit: number;
  /** Undefined: any. */
  readonly subject: string | undefined;
}

/** What the control plane remembers. One loop writes; a second one that writes beside it is told by "stale". */
export interface Store {
  load(): Promise<Snapshot>;
  /**
   * All of it or nothing, at `now`. "stale": somebody has committed since `expectedRevision`, nothing was written; load
   * and decide again. When it resolves to a revision, the changes survive a kill and a power cut.
   */
  commit(expectedRevision: number, changes: Changes, now: Millis): Promise<Result<number, "stale">>;
  events(query: EventQuery): Promise<readonly ClusterEvent[]>;
  readonly usage: UsageStore;
  close(): Promise<void>;
}
