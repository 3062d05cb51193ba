import { stringify } from "yaml";

/** The objects, each as JSON, as YAML that {@link parseManifest} takes back: one document each. */
export const writeManifests = (manifests: readonly string[]): string =>
  manifests
    .map((manifest) => stringify(JSON.parse(manifest) as unknown, { aliasDuplicateObjects: false, lineWidth: 0 }))
    .join("---\n");
