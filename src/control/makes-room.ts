import type { ProfileName, ReplicaId } from "../core/ids.ts";
import { specHash } from "../core/profile.ts";
import { type Replica, REPLICA_TRAITS, shareOn } from "../core/replica-state.ts";
import { type Ask, askOf, type EngineOffer } from "../scheduler/ask.ts";
import { givenBack } from "../scheduler/give-back.ts";
import { type FetchOf, nodeViews } from "../scheduler/node-view.ts";
import { place } from "../scheduler/place.ts";
import { DEFAULT_POLICY } from "../scheduler/policies.ts";
import type { Snapshot } from "../store/store.ts";
import { fetchesOf, needsOf } from "./model-needs.ts";

/**
 * Of the profiles whose new replica found no place: the ready replicas that would leave it one. Only their own nodes are
 * asked again, because nothing changes on the others.
 */
export function makesRoom(snapshot: Snapshot, offer: EngineOffer): ReadonlySet<ReplicaId> {
  const { profiles, replicas } = snapshot;
  const stuck = new Set(replicas.flatMap(stuckProfile));
  if (stuck.size === 0) return new Set();
  const [needs, fetchOf] = [needsOf(snapshot), fetchesOf(snapshot)];
  const holding = replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].holdsResources);
  const found = profiles
    .filter(({ profile }) => stuck.has(profile.name))
    .flatMap(({ profile }) => {
      const hash = specHash(profile);
      const ask = askOf(profile, needs(profile), offer);
      return holding
        .filter((replica) => replica.profile === profile.name && mayGo(replica, hash))
        .filter((replica) => fitsInstead(ask, replica, { snapshot, holding, fetchOf }));
    });
  return new Set(found.map(({ id }) => id));
}

const stuckProfile = ({ profile, state }: Replica): readonly ProfileName[] =>
  state.kind === "pending" && state.rejections.length > 0 ? [profile] : [];

/** One of the present form goes only when it is told to. */
const mayGo = ({ state, specHash: of, replace }: Replica, hash: string): boolean =>
  state.kind === "ready" && (of !== hash || replace !== undefined);

interface Cluster {
  readonly snapshot: Snapshot;
  readonly holding: readonly Replica[];
  readonly fetchOf: FetchOf;
}

function fitsInstead(ask: Ask, replica: Replica, { snapshot, holding, fetchOf }: Cluster): boolean {
  const { placement } = replica;
  const nodes = snapshot.nodes.flatMap((node) => {
    const share = shareOn(placement, node.id);
    return share === undefined ? [] : [givenBack(node, share)];
  });
  const others = holding.filter((other) => other !== replica);
  // A replica over several nodes may have its place beside them.
  const asked =
    ask.nodes === 1 ? nodes : [...nodes, ...snapshot.nodes.filter(({ id }) => shareOn(placement, id) === undefined)];
  return nodes.length > 0 && place(ask, nodeViews(asked, others, fetchOf), DEFAULT_POLICY).kind === "placed";
}
