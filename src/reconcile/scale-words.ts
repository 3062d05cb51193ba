import type { NewEvent } from "../core/event.ts";
import { formatDuration } from "../core/format.ts";
import type { Millis, ProfileName } from "../core/ids.ts";
import { type Demand, type ReplicaRange, unneededFor } from "./scale.ts";

/** Why so many replicas are wanted, as the end of a sentence. `now`: on the clock of the demand. */
export function scaleWords({ min, max, targetInFlight, idle }: ReplicaRange, demand: Demand, now: Millis): string {
  const { wanted, load, isFirst, since } = demand;
  if (wanted === 0) {
    return now - since < idle ? "none until a request comes" : `scaled to 0: idle for ${formatDuration(idle)}`;
  }
  const requests = load === 1 ? "1 request" : `${String(load)} requests`;
  const asked = Math.ceil(load / targetInFlight);
  const each = `${String(targetInFlight)} for each replica`;
  if (asked > wanted && isFirst) return `for ${requests}; whether more are needed is seen when one is ready`;
  if (asked > max) return `${requests}, ${each}, would need ${String(asked)}; ${String(max)} is the most`;
  if (asked === wanted) return `for ${requests}, ${each}`;
  if (wanted === min) return "the fewest that it may have";
  const unneeded = unneededFor(demand, now);
  if (unneeded === 0) return "until the first that was asked for is ready, or until every router has been heard";
  return `${requests} would need ${String(asked)} since ${formatDuration(unneeded)}; fewer after ${formatDuration(idle)} of that`;
}

/** Why a replica goes that is one too many. */
export function surplusWords({ max, idle }: ReplicaRange, wanted: number): string {
  if (wanted === max) return `the profile asks for at most ${String(max)} now`;
  const unneeded = wanted === 0 ? "idle" : "no more were needed";
  return `scaled to ${String(wanted)}: ${unneeded} for ${formatDuration(idle)}`;
}

/** Told at each step, in either direction. */
export function scaleEvent(
  name: ProfileName,
  { range, before, after }: { readonly range: ReplicaRange; readonly before: Demand; readonly after: Demand },
  now: Millis,
): NewEvent {
  const [from, to] = [String(before.wanted), String(after.wanted)];
  const reason = after.wanted > before.wanted ? "ScaledUp" : "ScaledDown";
  const message = `${name}: from ${from} to ${to} replicas: ${stepWords(range, after, now)}`;
  return { level: "info", subjectKind: "profile", subject: name, reason, message };
}

function stepWords(range: ReplicaRange, after: Demand, now: Millis): string {
  if (after.wanted === 0) return `idle for ${formatDuration(range.idle)}`;
  return scaleWords(range, after, now);
}
