import { create } from "@bufbuild/protobuf";
import { baseCount, specHash } from "../../core/profile.ts";
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
import type { ControlPlane } from "../control-plane.ts";
import { hiddenManifest } from "../hide-secrets.ts";

export function listProfiles({ loop }: ControlPlane, { name }: ListProfilesRequest): ListProfilesResponse {
  const { profiles, replicas } = loop.snapshot;
  return create(ListProfilesResponseSchema, {
    profiles: profiles
      .filter(({ profile }) => name === "" || profile.name === name)
      .map((stored) => toWire(stored, replicas)),
  });
}

const toWire = ({ profile, manifest, createdAt, updatedAt }: StoredProfile, replicas: readonly Replica[]): Profile =>
  create(ProfileSchema, {
    name: profile.name,
    serves: [...profile.serves],
    source: profile.model.source,
    engine: profile.engine,
    replicas: baseCount(profile.replicas),
    ready: replicas.filter((replica) => replica.profile === profile.name && replica.state.kind === "ready").length,
    specHash: specHash(profile),
    createdAt: toTimestamp(createdAt),
    updatedAt: toTimestamp(updatedAt),
    manifest: hiddenManifest(manifest),
  });
