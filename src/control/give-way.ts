import type { NewEvent } from "../core/event.ts";
import { nodesOf, type Placement, type Replica, shareOn, sharesOf } from "../core/replica-state.ts";
import { type Ask, askOf, type EngineOffer } from "../scheduler/ask.ts";
import { type FetchOf, nodeViews } from "../scheduler/node-view.ts";
import { place } from "../scheduler/place.ts";
import { DEFAULT_POLICY } from "../scheduler/policies.ts";
import type { Snapshot } from "../store/store.ts";
import { specKey, specsByKey } from "./changes.ts";
import { fetchesOf, needsOf } from "./model-needs.ts";

interface Given {
  readonly replicas: readonly Replica[];
  readonly events: readonly NewEvent[];
}

/**
 * What has failed keeps its place, so that its log is there to be read, until another replica finds none: then it loses as
 * much as that one needs. Its reason and the engine's last lines stay. One replica is helped at a time; where it goes is
 * decided in the next turn.
 */
export function givenWay(snapshot: Snapshot, replicas: readonly Replica[], offer: EngineOffer): Given {
  const failed = replicas.filter(({ state, placement }) => state.kind === "failed" && placement !== undefined);
  const stuck = replicas.filter(({ state }) => state.kind === "pending" && state.rejections.length > 0);
  if (failed.length === 0 || stuck.length === 0) return { replicas, events: [] };
  const specs = specsByKey(snapshot);
  const needs = needsOf(snapshot);
  const cluster = { snapshot, replicas, fetchOf: fetchesOf(snapshot) };
  for (const waiting of stuck) {
    const spec = specs.get(specKey(waiting));
    const loser = spec === undefined ? [] : losers(askOf(spec, needs(spec), offer), failed, cluster);
    if (loser.length > 0) return withoutPlace(replicas, loser, waiting);
  }
  return { replicas, events: [] };
}

interface Cluster {
  readonly snapshot: Snapshot;
  readonly replicas: readonly Replica[];
  readonly fetchOf: FetchOf;
}

/** Of the nodes that would have room: the failed ones that have to go for it, the longest failed first. None: nothing would help. */
function losers(ask: Ask, failed: readonly Replica[], cluster: Cluster): readonly Replica[] {
  const target = placedWithout(ask, failed, cluster);
  const there = failed
    .filter(({ placement }) => sharesOf(target).some(({ node }) => shareOn(placement, node) !== undefined))
    .toSorted((a, b) => a.since - b.since || (a.id < b.id ? -1 : 1));
  for (let count = 1; count <= there.length; count++) {
    const gone = there.slice(0, count);
    if (placedWithout(ask, gone, cluster) !== undefined) return gone;
  }
  return [];
}

function placedWithout(
  ask: Ask,
  gone: readonly Replica[],
  { snapshot, replicas, fetchOf }: Cluster,
): Placement | undefined {
  const left = replicas.filter((replica) => !gone.includes(replica));
  // On other nodes nothing changes, and they have said no; but a replica over several may need them beside these.
  const changed = new Set(gone.flatMap(({ placement }) => sharesOf(placement).map(({ node }) => node)));
  const asked = ask.nodes > 1 ? snapshot.nodes : snapshot.nodes.filter(({ id }) => changed.has(id));
  const decision = place(ask, nodeViews(asked, left, fetchOf), DEFAULT_POLICY);
  return decision.kind === "placed" ? decision.placement : undefined;
}

function withoutPlace(replicas: readonly Replica[], gone: readonly Replica[], waiting: Replica): Given {
  const events = gone.map(({ id, placement }): NewEvent => {
    const message = `${id} has failed and gives its place on ${nodesOf(placement)} to ${waiting.id}, which found none`;
    return { level: "info", subjectKind: "replica", subject: id, reason: "ReplicaGaveWay", message };
  });
  const left = replicas.map((replica) => (gone.includes(replica) ? { ...replica, placement: undefined } : replica));
  return { replicas: left, events };
}
