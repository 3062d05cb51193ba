import { redactor, secretsIn, withoutSecrets } from "../core/redact.ts";
import type { Snapshot } from "../store/store.ts";

/** A manifest's JSON with the secrets replaced that it gives to an engine. Who needs them asks for everything at once. */
export const hiddenManifest = (manifest: string): string => JSON.stringify(withoutSecrets(JSON.parse(manifest)));

/** The value of one key of a manifest as JSON, with its secrets replaced; "" stays. */
export function hiddenValue(path: string, json: string): string {
  if (json === "") return "";
  const name = path.slice(path.lastIndexOf(".") + 1);
  const held = withoutSecrets({ [name]: JSON.parse(json) as unknown }) as Readonly<Record<string, unknown>>;
  return JSON.stringify(held[name]);
}

interface Known {
  readonly snapshot: Snapshot;
  readonly adminToken: string;
  /** What upstreams are asked with. */
  readonly upstreamKeys: readonly string[];
}

/** For texts that leave the house: takes out every secret that this control plane knows, and all that looks like one. */
export function secretsOut({ snapshot, adminToken, upstreamKeys }: Known): (text: string) => string {
  const manifests = snapshot.profiles.flatMap(({ manifest, revisions }) => [
    manifest,
    ...revisions.map((revision) => revision.manifest),
  ]);
  const given = manifests.flatMap((manifest) => secretsIn(JSON.parse(manifest)));
  const older = snapshot.specs.flatMap(({ spec }) => secretsIn(spec));
  return redactor([adminToken, ...upstreamKeys, ...snapshot.replicas.map(({ apiKey }) => apiKey), ...given, ...older]);
}
