import type { ReplicaId } from "../core/ids.ts";
import type { Placement, Rejection } from "../core/replica-state.ts";
import type { Ask } from "./ask.ts";
import { bookingFor } from "./fit.ts";
import { byNodeId, type NodeView, withBooking } from "./node-view.ts";
import type { Filter, PlacementPolicy, Scorer } from "./rules.ts";

export type Decision =
  | { readonly kind: "placed"; readonly placement: Placement; readonly score: number }
  /** With every node's own no. */
  | { readonly kind: "unplaceable"; readonly rejections: readonly Rejection[] };

/** The best node for the ask, or why there is none. Ties go to the lowest node id, so one input has one answer. */
export function place(ask: Ask, views: readonly NodeView[], policy: PlacementPolicy): Decision {
  const rejections: Rejection[] = [];
  let best: { readonly view: NodeView; readonly score: number } | undefined;
  for (const view of views.toSorted(byNodeId)) {
    const rejection = firstRejection(view, ask, policy.filters);
    if (rejection !== undefined) {
      rejections.push(rejection);
      continue;
    }
    const score = weightedScore(view, ask, policy.scorers);
    if (best === undefined || score > best.score) best = { view, score };
  }
  const placement = best === undefined ? undefined : bookingFor(best.view, ask);
  if (best === undefined || placement === undefined) return { kind: "unplaceable", rejections };
  return { kind: "placed", placement, score: best.score };
}

function firstRejection(view: NodeView, ask: Ask, filters: readonly Filter[]): Rejection | undefined {
  for (const filter of filters) {
    const reason = filter.check(view, ask);
    if (reason !== undefined) return { node: view.node.id, filter: filter.name, reason };
  }
  return undefined;
}

export const weightedScore = (view: NodeView, ask: Ask, scorers: readonly Scorer[]): number =>
  scorers.reduce((sum, scorer) => sum + scorer.weight * Math.min(1, Math.max(0, scorer.score(view, ask))), 0);

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
    const { placement } = decision;
    left = left.map((view) => (view.node.id === placement.node ? withBooking(view, ask.profile, placement) : view));
  }
  return decisions;
}
