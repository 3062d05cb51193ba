import type { Millis } from "../core/ids.ts";
import type { ModelRoute } from "../core/route.ts";
import { inSeconds } from "./deadlines.ts";
import { type Later, notReady, overloaded } from "./refusals.ts";

const isCold = ({ replicas }: ModelRoute): boolean => replicas.length === 0;

/** `expected`: what one that gets a place would have to wait. */
export const queueIsFull = (route: ModelRoute, expected: Millis | undefined): Later =>
  isCold(route) ? notReady(route) : overloaded(route, "the queue for it is full", expected);

export function waitedInVain(route: ModelRoute, waited: Millis, expected: Millis | undefined): Later {
  if (isCold(route)) return notReady(route, waited);
  return overloaded(route, `no engine was free within ${inSeconds(waited)}`, expected);
}
