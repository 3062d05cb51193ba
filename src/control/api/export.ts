import { create } from "@bufbuild/protobuf";
import { aliasManifest } from "../../config/alias.ts";
import { upstreamManifest } from "../../config/upstream.ts";
import { writeManifests } from "../../config/write-manifests.ts";
import type { Snapshot } from "../../store/store.ts";
import { type ExportResponse, ExportResponseSchema } from "../../wire/gen/llmgw/v1/operating_pb.js";
import type { ControlPlane } from "../control-plane.ts";

/** Everything that was applied, as one manifest, and what no manifest can hold. */
export function exportAll({ loop }: Pick<ControlPlane, "loop">): ExportResponse {
  const { snapshot } = loop;
  const aliases = snapshot.aliases.map(({ alias }) => aliasManifest(alias));
  const upstreams = snapshot.upstreams.map(({ upstream }) => upstreamManifest(upstream));
  const profiles = snapshot.profiles.map((profile) => profile.manifest);
  const manifest = writeManifests([...profiles, ...upstreams, ...aliases]);
  return create(ExportResponseSchema, { manifest, notes: [...notesOf(snapshot)] });
}

/** Cordons belong to machines and not to what runs on them. */
const notesOf = ({ nodes }: Snapshot): readonly string[] =>
  nodes.filter(({ cordoned }) => cordoned).map(({ id }) => `node ${id} is cordoned: llmgw ctl cordon ${id}`);
