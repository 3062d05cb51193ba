import type { Gathered } from "../../src/control/decide.ts";
import type { NodeHeard } from "../../src/control/heard.ts";
import { type Millis, millis, type NodeId, replicaId } from "../../src/core/ids.ts";
import type { Inventory } from "../../src/core/node.ts";
import { offer } from "./values.ts";

// What a control plane has found out at one moment, as plain values for tests.

/** Both clocks say `now`; no node and no router is there, and llama.cpp is what nodes can install. */
export const gathered = (now: Millis, more: Partial<Gathered> = {}): Gathered => ({
  now,
  monotonic: now,
  awakeSince: millis(0),
  nodes: new Map(),
  routers: { reports: [], goneSince: new Map(), settled: true },
  policy: {
    liveness: { unreachableAfter: millis(15_000), lostAfter: millis(300_000), brake: 0.5 },
    ...offer("llama.cpp"),
    weightsConcurrency: 4,
    weightsPeers: true,
  },
  demands: new Map(),
  isFirst: false,
  mint: countingMint(),
  ...more,
});

/** smol-1 with key-1, smol-2 with key-2, … */
function countingMint(): Gathered["mint"] {
  let minted = 0;
  return (name) => {
    minted += 1;
    return { id: replicaId(`${name}-${String(minted)}`), apiKey: `key-${String(minted)}` };
  };
}

/** A node that is connected and was heard at `now`. */
export const heardAt = (
  now: Millis,
  { id, inventory }: { readonly id: NodeId; readonly inventory: Inventory },
): NodeHeard => ({
  id,
  inventory,
  observed: undefined,
  hasStream: true,
  goodbye: undefined,
  lastHeard: now,
  lastSeen: now,
});
