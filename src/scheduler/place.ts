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
  /** What its score is at most. */
  readonly most: number;
  readonly score: () => number;
}

type Verdict = Able | Rejection;

/** What was found out about each node for one ask. */
type Verdicts = Map<NodeView, Verdict>;

/** The best place for the ask, or why there is none. Ties go to the lowest node id, so one input has one answer. */
export const place = (ask: Ask, views: readonly NodeView[], policy: PlacementPolicy): Decision =>
  choose(ask, views.toSorted(byNodeId), { policy });

interface Judging {
  readonly policy: PlacementPolicy;
  /** Of nodes that were looked at before; added to. Left out: this is the only look. */
  readonly verdicts?: Verdicts;
}

/** `views`: by node id. */
function choose(ask: Ask, views: readonly NodeView[], { policy, verdicts }: Judging): Decision {
  const rejections: Rejection[] = [];
  const able: Able[] = [];
  for (const view of views) {
    const known = verdicts?.get(view);
    const verdict = known ?? judge(view, ask, policy);
    if (known === undefined) verdicts?.set(view, verdict);
    if ("most" in verdict) able.push(verdict);
    else rejections.push(verdict);
  }
  return ask.nodes === 1 ? onOneNode(able, rejections, ask) : onIsland({ able, rejections, ask, policy });
}

function judge(view: NodeView, ask: Ask, { filters, scorers }: PlacementPolicy): Verdict {
  const rejection = firstRejection(view, ask, filters);
  if (rejection !== undefined) return rejection;
  let found: number | undefined;
  return { view, most: mostScore(view, ask, scorers), score: () => (found ??= weightedScore(view, ask, scorers)) };
}

function onOneNode(able: readonly Able[], rejections: readonly Rejection[], ask: Ask): Decision {
  let best: { readonly view: NodeView; readonly score: number } | undefined;
  for (const { view, most, score } of able) {
    // Only what may be better is looked at closely.
    if (best !== undefined && most <= best.score) continue;
    const exact = score();
    if (best === undefined || exact > best.score) best = { view, score: exact };
  }
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
  const scores = new Map(able.map((one) => [one.view, one]));
  const islands = islandsOf(
    able.map(({ view }) => view),
    ask,
  );
  let best: { readonly placement: Placement; readonly score: number } | undefined;
  for (const island of islands) {
    if (island.views.length < ask.nodes) continue;
    const bonus = islandScore(island, ask, policy.islandScorers);
    const most = (view: NodeView): number => scores.get(view)?.most ?? 0;
    // Only what may be better is looked at closely.
    if (best !== undefined && meanOfBest(island.views.map(most), ask.nodes) + bonus <= best.score) continue;
    const score = (view: NodeView): number => scores.get(view)?.score() ?? 0;
    const chosen = island.views.toSorted((a, b) => score(b) - score(a) || byNodeId(a, b)).slice(0, ask.nodes);
    const total = meanOfBest(chosen.map(score), ask.nodes) + bonus;
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

function meanOfBest(scores: readonly number[], count: number): number {
  const best = scores.toSorted((a, b) => b - a).slice(0, count);
  return best.reduce((sum, score) => sum + score, 0) / count;
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

/** In the order of `weightedScore`, so that no rounding puts it below. */
const mostScore = (view: NodeView, ask: Ask, scorers: readonly Scorer[]): number =>
  scorers.reduce((sum, scorer) => sum + scorer.weight * within(scorer.most?.(view, ask) ?? scorer.score(view, ask)), 0);

const islandScore = (island: Island, ask: Ask, scorers: readonly IslandScorer[]): number =>
  scorers.reduce((sum, scorer) => sum + scorer.weight * within(scorer.score(island, ask)), 0);

const fetchOf = ({ source, weights }: Ask): Fetch | undefined =>
  weights === undefined ? undefined : { source, bytes: weights };

export interface PendingAsk {
  readonly id: ReplicaId;
  readonly ask: Ask;
}

/** One after another, each seeing what those before it were given. Replicas that ask for the same share one ask. */
export function placeAll(
  pending: readonly PendingAsk[],
  views: readonly NodeView[],
  policy: PlacementPolicy,
): ReadonlyMap<ReplicaId, Decision> {
  const left = views.toSorted(byNodeId);
  const places = new Map(left.map((view, at) => [view.node.id, at]));
  const judged = new Map<Ask, Verdicts>();
  // No room for the one before, and nothing has come free since.
  const refused = new Map<Ask, Decision>();
  const decisions = new Map<ReplicaId, Decision>();
  for (const { id, ask } of pending) {
    const verdicts = judged.get(ask) ?? new Map<NodeView, Verdict>();
    judged.set(ask, verdicts);
    const decision = refused.get(ask) ?? choose(ask, left, { policy, verdicts });
    decisions.set(id, decision);
    if (decision.kind === "unplaceable") {
      refused.set(ask, decision);
      continue;
    }
    for (const share of sharesOf(decision.placement)) {
      const at = places.get(share.node);
      const view = at === undefined ? undefined : left[at];
      if (at === undefined || view === undefined) continue;
      left[at] = withBooking(view, { profile: ask.profile, share, fetch: fetchOf(ask) });
    }
    // Their reasons may be others now.
    refused.clear();
  }
  return decisions;
}
