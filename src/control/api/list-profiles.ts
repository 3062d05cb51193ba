import { create } from "@bufbuild/protobuf";
import { adaptersOf } from "../../core/adapter.ts";
import type { Millis } from "../../core/ids.ts";
import { specHash } from "../../core/profile.ts";
import type { Replica } from "../../core/replica-state.ts";
import type { StoredProfile } from "../../store/store.ts";
import {
  type ListProfilesRequest,
  type ListProfilesResponse,
  ListProfilesResponseSchema,
  type Profile,
  ProfileSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import { toTimestamp } from "../../wire/scalar.ts";
import { brakeNotice } from "../attention.ts";
import type { ControlPlane } from "../control-plane.ts";
import { hiddenManifest } from "../hide-secrets.ts";
import { rangeToWire } from "../range-in-words.ts";
import { type Demands, wantedOf } from "../scaling.ts";

export function listProfiles({ loop, clock }: ControlPlane, { name }: ListProfilesRequest): ListProfilesResponse {
  const { profiles, replicas } = loop.snapshot;
  const standing = { replicas, demands: loop.demands, monotonic: clock.monotonic() };
  return create(ListProfilesResponseSchema, {
    notice: brakeNotice(loop.liveness),
    profiles: profiles
      .filter(({ profile }) => name === "" || profile.name === name)
      .map((stored) => toWire(stored, standing)),
  });
}

interface Standing {
  readonly replicas: readonly Replica[];
  readonly demands: Demands;
  readonly monotonic: Millis;
}

function toWire(
  { profile, manifest, createdAt, updatedAt }: StoredProfile,
  { replicas, demands, monotonic }: Standing,
): Profile {
  const range = rangeToWire(profile, demands, monotonic);
  return create(ProfileSchema, {
    name: profile.name,
    serves: [...profile.serves],
    adapters: adaptersOf(profile).map((adapter) => adapter.name),
    source: profile.model.source,
    engine: profile.engine,
    replicas: wantedOf(profile, demands),
    ready: replicas.filter((replica) => replica.profile === profile.name && replica.state.kind === "ready").length,
    specHash: specHash(profile),
    createdAt: toTimestamp(createdAt),
    updatedAt: toTimestamp(updatedAt),
    manifest: hiddenManifest(manifest),
    ...(range === undefined ? {} : { range }),
  });
}
