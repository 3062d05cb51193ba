import { leastInFlight } from "./policies/least-in-flight.ts";
import { leastWork } from "./policies/least-work.ts";
import { powerOfTwo } from "./policies/power-of-two.ts";
import { prefixAffinity } from "./policies/prefix-affinity.ts";

/** The one list of policies, the default first: a new one is a file in policies/ and a line here. */
export const ROUTING_POLICIES = {
  "prefix-affinity": prefixAffinity,
  "least-work": leastWork,
  "least-in-flight": leastInFlight,
  "power-of-two": powerOfTwo,
} as const;

export type RoutingPolicyName = keyof typeof ROUTING_POLICIES;

export const ROUTING_POLICY_NAMES = Object.keys(ROUTING_POLICIES) as readonly RoutingPolicyName[];
