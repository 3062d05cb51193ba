import { leastInFlight } from "./policies/least-in-flight.ts";

/** The one list of policies: a new one is a file in policies/ and a line here. */
export const ROUTING_POLICIES = { "least-in-flight": leastInFlight } as const;

export type RoutingPolicyName = keyof typeof ROUTING_POLICIES;
