import { type Millis, millis, plus } from "../core/ids.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica } from "../core/replica-state.ts";
import type { Snapshot } from "../store/store.ts";

/**
 * What is remembered, to a control plane that starts at `now`. While none ran, routers may not have been told yet what drains,
 * and went on sending requests to it: each of those has the whole time of a drain from now on.
 */
export function afterAbsence(before: Snapshot, now: Millis): Snapshot {
  const profiles = new Map(before.profiles.map(({ profile }) => [profile.name, profile]));
  return {
    ...before,
    replicas: before.replicas.map((replica) => resumed(replica, profiles.get(replica.profile), now)),
  };
}

function resumed(replica: Replica, profile: Profile | undefined, now: Millis): Replica {
  const { state, since } = replica;
  if (state.kind !== "draining") return replica;
  // Of a profile that is deleted nothing says how long it may drain but what it was given.
  const whole = profile?.rollout.drain ?? millis(state.deadline - since);
  return { ...replica, state: { ...state, deadline: millis(Math.max(state.deadline, plus(now, whole))) } };
}
