import type { ClusterNode } from "../core/node.ts";
import type { EngineName } from "../core/profile.ts";
import type { Ask, EngineOffer } from "./ask.ts";
import type { NodeView } from "./node-view.ts";
import type { Remedy } from "./remedy.ts";

/** Nodes that could be ranks of one replica: each would take a rank, on one fabric, with the same build of one engine. */
export interface Island {
  readonly fabric: string;
  readonly engine: EngineName;
  readonly version: string;
  readonly views: readonly NodeView[];
}

/** A node that could take a rank but has too few of its kind. */
interface Alone {
  readonly reason: string;
  readonly remedies: readonly Remedy[];
}

/** The names of the fabrics on which the node can meet others. */
export const fabricsOf = ({ inventory }: ClusterNode): readonly string[] =>
  inventory.fabrics.filter(({ problem }) => problem === undefined).map(({ name }) => name);

/** Every island of the nodes, also those that are too small. Each is in the order of `views`. */
export function islandsOf(views: readonly NodeView[], { engines, offer }: Ask): readonly Island[] {
  return [...viewsByFabric(views)].toSorted(byName).flatMap(([fabric, onFabric]) =>
    engines.flatMap((engine): readonly Island[] => {
      const byVersion = Map.groupBy(onFabric, ({ node }) => versionOn(node, engine, offer));
      return [...byVersion].flatMap(([version, same]) =>
        version === undefined ? [] : [{ fabric, engine, version, views: same }],
      );
    }),
  );
}

function viewsByFabric(views: readonly NodeView[]): ReadonlyMap<string, readonly NodeView[]> {
  const byFabric = new Map<string, NodeView[]>();
  for (const view of views) {
    for (const fabric of new Set(fabricsOf(view.node))) {
      const there = byFabric.get(fabric);
      if (there === undefined) byFabric.set(fabric, [view]);
      else there.push(view);
    }
  }
  return byFabric;
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

/** Why a node that would take a rank has no others to join; undefined: it has. */
export function whyAlone(view: NodeView, islands: readonly Island[], ask: Ask): Alone | undefined {
  const own = islands.filter(({ views }) => views.includes(view));
  if (own.some(({ views }) => views.length >= ask.nodes)) return undefined;
  const words = fabricsOf(view.node).map((fabric) => inWords(fabric, islands, ask));
  return {
    reason: words.join("; "),
    remedies: fabricsOf(view.node).map((fabric) => ({
      kind: "join-fabric",
      fabric,
      nodes: ask.nodes - Math.max(0, ...own.filter((one) => one.fabric === fabric).map(({ views }) => views.length)),
    })),
  };
}

function inWords(fabric: string, islands: readonly Island[], { nodes, gpus: { choices } }: Ask): string {
  const there = islands.filter((island) => island.fabric === fabric);
  const able = new Set(there.flatMap(({ views }) => views)).size;
  const { count } = choices[0];
  const gpus = `${String(count)} free ${count === 1 ? "GPU" : "GPUs"}`;
  const has = `fabric ${fabric} has ${String(able)} ${able === 1 ? "node" : "nodes"} with ${gpus}`;
  if (able < nodes) return `${has}, ${String(nodes)} are needed`;
  const builds = there.map(({ engine, version, views }) => {
    const names = views.map(({ node }) => node.id).join(" and ");
    return `${engine}${version === "" ? "" : ` ${version}`} on ${names}`;
  });
  return `${has}, but not ${String(nodes)} with the same build of an engine: ${builds.join(", ")}`;
}

/**
 * What the node would run: a binary that its agent's configuration names, else what the operator names for all, else what
 * is there, else the newest. Undefined: it has none and gets none.
 */
export function versionOn({ inventory }: ClusterNode, engine: EngineName, offer: EngineOffer): string | undefined {
  const builds = inventory.engines.filter(({ name }) => name === engine);
  const own = builds.find(({ origin }) => origin === "configured");
  if (own !== undefined) return own.version;
  if (Object.hasOwn(offer.engines, engine)) return offer.engines[engine]?.version;
  return builds[0]?.version ?? (offer.installable.includes(engine) ? "" : undefined);
}
