import type { Ask } from "./ask.ts";
import type { Island } from "./island.ts";
import type { NodeView } from "./node-view.ts";
import type { Remedy } from "./remedy.ts";

export interface Filter {
  readonly name: string;
  readonly doc: string;
  /** Undefined for "fits", or why the node does not, as the end of "NODE …", in words that a user can act on. */
  check(view: NodeView, ask: Ask): string | undefined;
  /** Asked only after a no: changes of which any one would be enough for this rule, the smallest first. */
  remedies(view: NodeView, ask: Ask): readonly Remedy[];
}

export interface Scorer {
  readonly name: string;
  readonly doc: string;
  readonly weight: number;
  /** 0 is worst and 1 is best; the caller clamps. */
  score(view: NodeView, ask: Ask): number;
  /** What `score` is never above, found for less: only nodes that might be the best are looked at closely. Left out: `score` itself. */
  most?(view: NodeView, ask: Ask): number;
}

/** Compares groups of nodes for a replica that spans several. */
export interface IslandScorer {
  readonly name: string;
  readonly doc: string;
  readonly weight: number;
  /** 0 is worst and 1 is best; the caller clamps. */
  score(island: Island, ask: Ask): number;
}

export interface PlacementPolicy {
  readonly filters: readonly Filter[];
  readonly scorers: readonly Scorer[];
  /** Added to the mean of the scores of the island's best nodes. */
  readonly islandScorers: readonly IslandScorer[];
}
