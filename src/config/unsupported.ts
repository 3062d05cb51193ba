import type { Profile } from "../core/profile.ts";
import { engineOf, ENGINES } from "../engines/list.ts";
import type { ManifestObject } from "./manifest.ts";

/** Why this version cannot run what the object asks for, in sentences without their full stops. Empty: it can. */
export function unsupported(object: ManifestObject): readonly string[] {
  switch (object.kind) {
    case "Profile":
      return RULES.filter(({ holds }) => holds(object.profile)).map(({ why }) => why(object.profile));
    case "Alias":
    case "Upstream":
      return [];
  }
}

const SPANNING = ENGINES.filter(({ spansNodes }) => spansNodes === true).map(({ name }) => name);

interface Rule {
  readonly holds: (profile: Profile) => boolean;
  readonly why: (profile: Profile) => string;
}

const RULES: readonly Rule[] = [
  {
    holds: ({ resources, engine }) => resources.nodes > 1 && engine !== "auto" && engineOf(engine)?.spansNodes !== true,
    why: ({ name, engine }) =>
      `${name}: ${engine} runs a replica on one node only; ` +
      `set engine to ${SPANNING.join(" or ")}, or resources.nodes to 1`,
  },
];
