import type { Filter } from "../rules.ts";

export const engine: Filter = {
  name: "engine",
  doc: "The engine is on the node or can be installed there.",
  check({ node }, { engines, offer }) {
    if (engines.length === 0) return "can have no engine that loads the model's format over several nodes";
    const present = node.inventory.engines.map(({ name }) => name);
    if (engines.some((name) => present.includes(name) || offer.installable.includes(name))) return undefined;
    return `has no ${engines.join(" or ")}, and server.yaml names none to install (engines:)`;
  },
  remedies: (_, { engines }) => (engines.length === 0 ? [] : [{ kind: "offer-engine", engines }]),
};
