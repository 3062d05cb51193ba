import type { Millis, NodeId } from "../core/ids.ts";
import type { Inventory } from "../core/node.ts";
import type { ObservedState } from "../core/observed.ts";

/** What a node has said since this server started, and when. */
export interface NodeHeard {
  readonly id: NodeId;
  readonly inventory: Inventory;
  /** Undefined: its agent does not know yet what runs there. */
  readonly observed: ObservedState | undefined;
  readonly hasStream: boolean;
  /** The reason it gave when it said goodbye; undefined: it did not. */
  readonly goodbye: string | undefined;
  /** By the clock that never steps. */
  readonly lastHeard: Millis;
  /** By the wall clock, for showing. */
  readonly lastSeen: Millis;
}
