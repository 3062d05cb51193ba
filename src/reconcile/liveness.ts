import type { Millis, NodeId } from "../core/ids.ts";
import type { NodeLiveness } from "../core/node.ts";

export interface LivenessPolicy {
  readonly unreachableAfter: Millis;
  readonly lostAfter: Millis;
  /** When more than this share of the nodes is silent at once, the fault is nearer to the server than to them. */
  readonly brake: number;
}

/** What is known of one node's silence. Times are those of a clock that never steps. */
export interface NodeContact {
  readonly id: NodeId;
  readonly before: NodeLiveness;
  readonly hasStream: boolean;
  /** It said goodbye, and has not come back. */
  readonly left: boolean;
  /** Undefined: never since this server started. */
  readonly lastHeard: Millis | undefined;
}

export interface LivenessVerdict {
  readonly liveness: ReadonlyMap<NodeId, NodeLiveness>;
  /** Silent for long enough to be lost, but held back by the brake. */
  readonly braked: readonly NodeId[];
  /** Of the nodes that are not given up already. */
  readonly silent: number;
  readonly watched: number;
}

/**
 * Which nodes are there. Nobody's silence began before `awakeSince`: a server that was down or stopped heard nothing, which
 * says nothing about the nodes.
 */
export function assessLiveness(
  contacts: readonly NodeContact[],
  { now, awakeSince, policy }: { readonly now: Millis; readonly awakeSince: Millis; readonly policy: LivenessPolicy },
): LivenessVerdict {
  const found = contacts.map((contact) => {
    const silence = now - Math.max(contact.lastHeard ?? awakeSince, awakeSince);
    return { contact, silence, reachable: isReachable(contact, silence, policy) };
  });
  const watched = found.filter(({ contact, reachable }) => contact.before !== "lost" || reachable);
  const silent = watched.filter(({ reachable }) => !reachable);
  const overdue = silent.filter(({ silence }) => silence >= policy.lostAfter).map(({ contact }) => contact.id);
  const isBraked = silent.length > policy.brake * watched.length;
  const newlyLost = new Set(isBraked ? [] : overdue);
  const liveness = found.map(({ contact, reachable }) => {
    if (reachable) return [contact.id, "connected"] as const;
    const isLost = contact.before === "lost" || newlyLost.has(contact.id);
    return [contact.id, isLost ? "lost" : "unreachable"] as const;
  });
  return {
    liveness: new Map(liveness),
    braked: isBraked ? overdue : [],
    silent: silent.length,
    watched: watched.length,
  };
}

/** A stream that has just broken is not yet a silence: agents are restarted, and come back in a second. */
function isReachable(contact: NodeContact, silence: number, policy: LivenessPolicy): boolean {
  if (silence >= policy.unreachableAfter) return false;
  return contact.hasStream || (contact.before === "connected" && !contact.left);
}

/** A turn of the loop that comes this many intervals after the last was held up, and with it everything that arrived. */
const LATE_TURNS = 4;

/** Since when the server hears: since now, when the loop was stopped for a while (SIGSTOP, a starved or suspended machine). */
export function hearingSince(
  before: { readonly awakeSince: Millis; readonly lastTurn: Millis },
  now: Millis,
  interval: Millis,
): Millis {
  return now - before.lastTurn > LATE_TURNS * interval ? now : before.awakeSince;
}
