import type { Selectable } from "kysely";
import type { StoredAlias } from "../core/alias.ts";
import type { AccessToken } from "../core/access-token.ts";
import type { ClusterEvent, EventLevel, SubjectKind } from "../core/event.ts";
import { millis, profileName } from "../core/ids.ts";
import { type Measurement, measurementKey } from "../core/measured-memory.ts";
import type { LookedModel } from "../core/model-facts.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica } from "../core/replica-state.ts";
import type { Revision } from "../core/revision.ts";
import type { StoredUpstream } from "../core/upstream.ts";
import type { Tables } from "./schema.ts";
import type { StoredKey, StoredNode, StoredProfile, StoredSpec } from "./store.ts";

// Bodies are written by this program alone, in the shape of the schema's version, so they are believed.

export const profileRow = ({
  profile,
  manifest,
  createdAt,
  updatedAt,
  revisions,
}: StoredProfile): Tables["profiles"] => ({
  name: profile.name,
  body: JSON.stringify(profile),
  manifest,
  revisions: JSON.stringify(revisions),
  created_at: createdAt,
  updated_at: updatedAt,
});

export function profileFromRow(row: Tables["profiles"]): StoredProfile {
  const stored = {
    profile: JSON.parse(row.body) as Profile,
    manifest: row.manifest,
    createdAt: millis(row.created_at),
    updatedAt: millis(row.updated_at),
  };
  const revisions = JSON.parse(row.revisions) as readonly Revision[];
  if (revisions.length > 0) return { ...stored, revisions };
  // Written before revisions were kept: what it is now is the first that is known.
  const { profile, manifest, updatedAt: at } = stored;
  return {
    ...stored,
    revisions: [{ number: 1, profile, manifest, at, origin: "apply", outcome: "underway", why: "" }],
  };
}

export const specRow = ({ profile, specHash, spec }: StoredSpec): Tables["specs"] => ({
  profile,
  spec_hash: specHash,
  body: JSON.stringify(spec),
});

export const specFromRow = (row: Tables["specs"]): StoredSpec => ({
  profile: profileName(row.profile),
  specHash: row.spec_hash,
  spec: JSON.parse(row.body) as Profile,
});

export const nodeFromRow = ({ body }: Pick<Tables["nodes"], "body">): StoredNode => JSON.parse(body) as StoredNode;

export const nodeRow = (node: StoredNode): Tables["nodes"] => ({ id: node.id, body: JSON.stringify(node) });

export const replicaRow = (replica: Replica): Tables["replicas"] => ({
  id: replica.id,
  profile: replica.profile,
  body: JSON.stringify(replica),
});

export const replicaFromRow = ({ body }: Pick<Tables["replicas"], "body">): Replica => JSON.parse(body) as Replica;

export const aliasRow = (stored: StoredAlias): Tables["aliases"] => ({
  name: stored.alias.name,
  body: JSON.stringify(stored),
});

export const aliasFromRow = ({ body }: Pick<Tables["aliases"], "body">): StoredAlias => JSON.parse(body) as StoredAlias;

export const upstreamRow = (stored: StoredUpstream): Tables["upstreams"] => ({
  name: stored.upstream.name,
  body: JSON.stringify(stored),
});

export const upstreamFromRow = ({ body }: Pick<Tables["upstreams"], "body">): StoredUpstream =>
  JSON.parse(body) as StoredUpstream;

export const modelRow = (model: LookedModel): Tables["models"] => ({
  source: model.source,
  body: JSON.stringify(model),
});

export const modelFromRow = ({ body }: Pick<Tables["models"], "body">): LookedModel => JSON.parse(body) as LookedModel;

export const measurementRow = (measurement: Measurement): Tables["measurements"] => ({
  key: measurementKey(measurement),
  body: JSON.stringify(measurement),
});

export const measurementFromRow = ({ body }: Pick<Tables["measurements"], "body">): Measurement =>
  JSON.parse(body) as Measurement;

export const keyRow = (key: StoredKey): Tables["client_keys"] => ({
  id: key.id,
  sha256: key.sha256,
  body: JSON.stringify(key),
});

export const keyFromRow = ({ body }: Pick<Tables["client_keys"], "body">): StoredKey => JSON.parse(body) as StoredKey;

export const tokenRow = (token: AccessToken): Tables["tokens"] => ({
  id: token.id,
  sha256: token.sha256,
  body: JSON.stringify(token),
});

export const tokenFromRow = ({ body }: Pick<Tables["tokens"], "body">): AccessToken => JSON.parse(body) as AccessToken;

export const eventFromRow = (row: Selectable<Tables["events"]>): ClusterEvent => ({
  id: row.id,
  at: millis(row.at),
  level: row.level as EventLevel,
  subjectKind: row.subject_kind as SubjectKind,
  subject: row.subject,
  reason: row.reason,
  message: row.message,
});
