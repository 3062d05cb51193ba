import type { ReplicaId } from "../core/ids.ts";
import { type Placement, type Rejection, sharesOf } from "../core/replica-state.ts";
import type { Ask } from "./ask.ts";
import { bookingFor } from "./fit.ts";
import { type Island, islandsOf, whyAlone } from "./island.ts";
import { byNodeId, type Fetch, type NodeView, withBooking } from "./node-view.ts";
import type { Filter, IslandScorer, PlacementPolicy, Scorer } from "./rules.ts";

export type Decision =
  | { readonly kind: "placed"; readonly placement: Placement; readonly score: number }
  /** With every node's own no. */
  | { readonly kind: "unplaceable"; readonly rejections: readonly Rejection[] };

/** A node that would take the ask, or one rank of it. */
interface Able {
  readonly view: NodeView;
  readonly score: number;
}

/** The best place for the ask, or why there is none. Ties go to the lowest node id, so one input has one answer. */
export function place(ask: Ask, views: readonly NodeView[], policy: PlacementPolicy): Decision {
  const rejections: Rejection[] = [];
  const able: Able[] = [];
  for (const view of views.toSorted(byNodeId)) {
    const rejection = firstRejection(view, ask, policy.filters);
    if (rejection === undefined) able.push({ view, score: weightedScore(view, ask, policy.scorers) });
    else rejections.push(rejection);
  }
  return ask.nodes === 1 ? onOneNode(able, rejections, ask) : onIsland({ able, rejections, ask, policy });
}

function onOneNode(able: readonly Able[], rejections: readonly Rejection[], ask: Ask): Decision {
  const best = able.reduce<Able | undefined>(
    (before, one) => (before === undefined || one.score > before.score ? one : before),
    undefined,
  );
  const placement = best === undefined ? undefined : bookingFor(best.view, ask);
  if (best === undefined || placement === undefined) return { kind: "unplaceable", rejections };
  return { kind: "placed", placement, score: best.score };
}

interface Sifted {
  readonly able: readonly Able[];
  readonly rejections: readonly Rejection[];
  readonly ask: Ask;
  readonly policy: PlacementPolicy;
}

/** The best nodes of the best island. Of two that are as good: the fabric and the engine that come first. */
function onIsland({ able, rejections, ask, policy }: Sifted): Decision {
  const scores = new Map(able.map(({ view, score }) => [view, score]));
  const islands = islandsOf(
    able.map(({ view }) => view),
    ask,
  );
  let best: { readonly placement: Placement; readonly score: number } | undefined;
  for (const island of islands) {
    if (island.views.length < ask.nodes) continue;
    const score = (view: NodeView): number => scores.get(view) ?? 0;
    const chosen = island.views.toSorted((a, b) => score(b) - score(a) || byNodeId(a, b)).slice(0, ask.nodes);
    const mean = chosen.reduce((sum, view) => sum + score(view), 0) / ask.nodes;
    const total = mean + islandScore(island, ask, policy.islandScorers);
    const placement = gangOf(chosen.toSorted(byNodeId), island, ask);
    if (placement !== undefined && (best === undefined || total > best.score)) best = { placement, score: total };
  }
  if (best !== undefined) return { kind: "placed", ...best };
  const alone = able.flatMap(({ view }): readonly Rejection[] => {
    const why = whyAlone(view, islands, ask);
    return why === undefined ? [] : [{ node: view.node.id, filter: "island", reason: why.reason }];
  });
  return { kind: "unplaceable", rejections: [...rejections, ...alone].toSorted((a, b) => (a.node < b.node ? -1 : 1)) };
}

/** Ranks in the order of the nodes' ids; the first is the head. */
function gangOf(views: readonly NodeView[], { fabric, engine }: Island, ask: Ask): Placement | undefined {
  const [head, ...followers] = views.flatMap((view) => bookingFor(view, ask) ?? []);
  return head === undefined ? undefined : { ...head, gang: { fabric, engine, followers } };
}

function firstRejection(view: NodeView, ask: Ask, filters: readonly Filter[]): Rejection | undefined {
  for (const filter of filters) {
    const reason = filter.check(view, ask);
    if (reason !== undefined) return { node: view.node.id, filter: filter.name, reason };
  }
  return undefined;
}

const within = (score: number): number => Math.min(1, Math.max(0, score));

export const weightedScore = (view: NodeView, ask: Ask, scorers: readonly Scorer[]): number =>
  scorers.reduce((sum, scorer) => sum + scorer.weight * within(scorer.score(view, ask)), 0);

const islandScore = (island: Island, ask: Ask, scorers: readonly IslandScorer[]): number =>
  scorers.reduce((sum, scorer) => sum + scorer.weight * within(scorer.score(island, ask)), 0);

const fetchOf = ({ source, weights }: Ask): Fetch | undefined =>
  weights === undefined ? undefined : { source, bytes: weights };

export interface PendingAsk {
  readonly id: ReplicaId;
  readonly ask: Ask;
}

/** One after another, each seeing what those before it were given. */
export function placeAll(
  pending: readonly PendingAsk[],
  views: readonly NodeView[],
  policy: PlacementPolicy,
): ReadonlyMap<ReplicaId, Decision> {
  let left = views;
  const decisions = new Map<ReplicaId, Decision>();
  for (const { id, ask } of pending) {
    const decision = place(ask, left, policy);
    decisions.set(id, decision);
    if (decision.kind === "unplaceable") continue;
    const taken = new Map(sharesOf(decision.placement).map((share) => [share.node, share]));
    left = left.map((view) => {
      const share = taken.get(view.node.id);
      return share === undefined ? view : withBooking(view, { profile: ask.profile, share, fetch: fetchOf(ask) });
    });
  }
  return decisions;
}
