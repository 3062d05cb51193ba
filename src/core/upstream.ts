import { type Millis, type ReplicaId, replicaId } from "./ids.ts";

/** An OpenAI-compatible endpoint that llmgw does not run. */
export interface Upstream {
  readonly name: string;
  /** http or https. A path stands for the /v1 of the paths that clients ask for; without one it is /v1. */
  readonly url: string;
  /** The file that holds the key that it asks for. The key itself is kept nowhere. Left out: it asks for none. */
  readonly keyFile?: string;
  /** The file of the authorities that its certificate may be of. Left out: those that the system trusts. */
  readonly caFile?: string;
  /** Requests that a router sends to it at once. Left out: any number. */
  readonly concurrency?: number;
  /** Never empty. */
  readonly models: readonly UpstreamModel[];
}

export interface UpstreamModel {
  /** What clients ask for. */
  readonly name: string;
  /** What the endpoint calls it. */
  readonly remote: string;
}

/** An upstream as it is remembered. */
export interface StoredUpstream {
  readonly upstream: Upstream;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** No profile and no replica has a slash in its name. */
const PREFIX = "upstream/";

/** What stands for it wherever a replica or a profile is named. */
export const upstreamId = (name: string): ReplicaId => replicaId(PREFIX + name);

export const isUpstreamId = (id: string): boolean => id.startsWith(PREFIX);

/** The upstream's own name; undefined: it is an id of something else. */
export const upstreamNameOf = (id: string): string | undefined =>
  isUpstreamId(id) ? id.slice(PREFIX.length) : undefined;
