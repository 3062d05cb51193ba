import type { Profile } from "../core/profile.ts";
import type { ManifestObject } from "./manifest.ts";

/** Why this version cannot run what the object asks for, in sentences without their full stops. Empty: it can. */
export function unsupported(object: ManifestObject): readonly string[] {
  switch (object.kind) {
    case "Profile":
      return RULES.filter(({ holds }) => holds(object.profile)).map(({ why }) => why(object.profile));
    case "Alias":
    case "Upstream":
      return [`kind ${object.kind} is not carried out by this version; leave the document out`];
  }
}

interface Rule {
  readonly holds: (profile: Profile) => boolean;
  readonly why: (profile: Profile) => string;
}

const RULES: readonly Rule[] = [
  {
    holds: ({ replicas }) => replicas.kind === "range",
    why: ({ name }) => `${name}: replicas as a range is not carried out by this version; write a number`,
  },
  {
    holds: ({ resources, engine }) =>
      resources.nodes > 1 && (engine === "auto" ? SPANNING.length === 0 : engineOf(engine)?.spansNodes !== true),
    why: ({ name, engine }) => {
      const others = SPANNING.length === 0 ? "" : `set engine to ${SPANNING.join(" or ")}, or `;
      return `${name}: ${engine} runs a replica on one node only; ${others}set resources.nodes to 1`;
    },
  },
  {
    holds: ({ adapters }) => Object.keys(adapters).length > 0,
    why: ({ name }) => `${name}: adapters are not loaded by this version; leave adapters out`,
  },
];
