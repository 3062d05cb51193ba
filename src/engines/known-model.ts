import { bytes } from "../core/ids.ts";
import type { ModelNeeds } from "../core/memory-estimate.ts";
import type { LookedModel } from "../core/model-facts.ts";
import type { ClusterNode, HeldModel } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import { ENGINES, likelyEngine } from "./list.ts";
import { type KnownModel, modelNeeds } from "./weights/needs.ts";
import { whyNotSplit } from "./weights/split.ts";

/** What is known of a model: by the nodes that have it, else by its source, else nothing. */
export function knownModel(source: string, nodes: readonly ClusterNode[], looked: LookedModel | undefined): KnownModel {
  const isIt = (model: HeldModel): boolean => model.source === source && model.bytes > 0;
  const held = nodes
    .filter(({ inventory }) => inventory.weights.some(isIt))
    .flatMap(({ id, inventory }) => inventory.weights.filter(isIt).map((model) => ({ id, ...model })));
  const best = held.find(({ facts }) => facts !== undefined) ?? held[0];
  if (best !== undefined) {
    // The largest where they differ: one of them may lack a projector.
    const weights = bytes(Math.max(...held.map((model) => model.bytes)));
    const what = best.facts === undefined ? "from the files on" : "from the model's header on";
    return { facts: best.facts, weights, origin: `${what} node ${best.id}` };
  }
  if (looked === undefined) return { facts: undefined, weights: undefined, origin: NOBODY };
  const { facts, weights, problem } = looked;
  if (facts !== undefined && weights !== undefined)
    return { facts, weights, origin: "from the model's header at its source" };
  const why = problem === "" ? "" : ` (${problem})`;
  return { facts, weights, origin: weights === undefined ? `${NOBODY}${why}` : `from the source's listing${why}` };
}

const NOBODY = "no node holds the model yet and its source has not said how large it is";

/** What the profile's replicas take with a context of so many tokens; undefined: the model's own. */
export function needsAt(profile: Profile, known: KnownModel): (context: number | undefined) => ModelNeeds {
  const engine = likelyEngine(profile.engine, known.facts?.format);
  const blocked = whyNeverSplit(profile, known);
  return (context) => {
    const { args, env } = profile;
    const asked = context === undefined ? { args, env } : { args, env, context };
    const needs = { ...modelNeeds(profile, known, engine.memoryRules(asked)), ...loadedBy(known) };
    return blocked === undefined ? needs : { ...needs, blocked };
  };
}

/** Undefined facts say nothing about who could load it. */
function loadedBy({ facts }: KnownModel): Pick<ModelNeeds, "engines"> {
  if (facts === undefined) return {};
  return { engines: ENGINES.filter(({ formats }) => formats.includes(facts.format)).map(({ name }) => name) };
}

/** Why no engine could ever run the profile's model as it is split; undefined: one can, or nobody knows. */
export function whyNeverSplit(profile: Profile, { facts }: KnownModel): string | undefined {
  if (facts === undefined) return undefined;
  const { args, env } = profile;
  const engine = likelyEngine(profile.engine, facts.format);
  // Where each GPU gets whole layers, no head is cut. Safetensors are loaded by engines that cut every layer.
  const cutsHeads = engine.memoryRules({ args, env }).split === "tensor" || facts.format === "safetensors";
  return cutsHeads ? whyNotSplit(profile, facts) : undefined;
}
