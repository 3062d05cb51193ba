import { formatDuration } from "../core/format.ts";
import { type Millis, millis } from "../core/ids.ts";
import { baseCount, type Profile, specHash } from "../core/profile.ts";
import { withoutKey } from "../core/redact.ts";
import { firstNo, type Replica, type ReplicaKind, REPLICA_TRAITS } from "../core/replica-state.ts";

/** How the change to a profile's present form goes. */
export type RolloutVerdict =
  /** As many as are asked for are ready, and none of another form is left. */
  | { readonly kind: "complete" }
  | { readonly kind: "underway" }
  /** A replica of the present form does not become ready. `why`: the end of a sentence. */
  | { readonly kind: "broken"; readonly why: string };

/** States that nothing but a fault keeps a replica in for long. Fetching weights takes the time it takes. */
const SHORT: readonly ReplicaKind[] = ["pending", "placed", "starting"];

export function judgeRollout(profile: Profile, replicas: readonly Replica[], now: Millis): RolloutVerdict {
  const hash = specHash(profile);
  const counting = replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts);
  const fresh = counting.filter((replica) => replica.specHash === hash);
  const isDone = fresh.filter(({ state }) => state.kind === "ready").length >= baseCount(profile.replicas);
  if (isDone && fresh.length === counting.length) return { kind: "complete" };
  for (const replica of fresh) {
    const why = faultOf(replica, profile, now);
    if (why !== undefined) return { kind: "broken", why };
  }
  return { kind: "underway" };
}

function faultOf({ id, state, since, apiKey }: Replica, { startTimeout }: Profile, now: Millis): string | undefined {
  if (state.kind === "failed") return `${id} failed: ${withoutKey(state.reason, apiKey)}`;
  if (!SHORT.includes(state.kind) || now - since < startTimeout) return undefined;
  return `${id} has been ${state.kind} for ${formatDuration(millis(now - since))}${firstNo(state)}`;
}
