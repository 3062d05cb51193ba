import type { Filter } from "../rules.ts";

export const engine: Filter = {
  name: "engine",
  doc: "The engine is on the node or can be installed there.",
  check({ node }, { engines, offer }) {
    if (engines.length === 0) return "can have no engine that loads the model's format over several nodes";
    const isThere = (wanted: string): boolean => node.inventory.engines.some(({ name }) => name === wanted);
    if (engines.some((name) => offer.installable.includes(name) || isThere(name))) return undefined;
    return `has no ${engines.join(" or ")}, and server.yaml names none to install (engines:)`;
  },
  remedies: (_, { engines }) => (engines.length === 0 ? [] : [{ kind: "offer-engine", engines }]),
};
