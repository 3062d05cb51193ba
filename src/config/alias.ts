import type { z } from "zod";
import type { Alias } from "../core/alias.ts";
import { profileName } from "../core/ids.ts";
import { spell } from "./in-force.ts";
import { aliasSchema } from "./manifest-schema.ts";
import type { DeepReadonly } from "./problem.ts";

/** A checked document. */
export function normaliseAlias({ name, targets, fallback }: DeepReadonly<z.output<typeof aliasSchema>>): Alias {
  return {
    name,
    targets: targets.map(({ profile, weight }) => ({ profile: profileName(profile), weight })),
    fallback: fallback.map(profileName),
  };
}

/** The alias as a manifest in JSON, which is read back to the same alias. */
export const aliasManifest = (alias: Alias): string =>
  JSON.stringify(spell(aliasSchema, { kind: "Alias", ...alias }), undefined, 2);
