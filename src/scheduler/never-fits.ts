import { bytes } from "../core/ids.ts";
import type { ClusterNode } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import { askOf, type EngineOffer, type NeedsAt } from "./ask.ts";
import { explain, type NodeAnswer } from "./explain.ts";
import { gpus } from "./filters/gpus.ts";
import { memory } from "./filters/memory.ts";
import { nodeViews } from "./node-view.ts";
import { type Remedy, remedyInWords } from "./remedy.ts";
import type { PlacementPolicy } from "./rules.ts";

/** What no waiting mends. Labels, cordons, engines and disks are changed where they are, without another machine. */
const CAPACITY: PlacementPolicy = { filters: [gpus, memory], scorers: [], islandScorers: [] };
/** Which engines there are is no matter of size either. */
const NO_MATTER: EngineOffer = { installable: [], engines: {}, spanning: [] };
/** A thousand nodes that are alike say nothing more than three. */
const TOLD = 3;

/**
 * Why no node could hold a replica of the profile, or a rank of one, even with nothing else there and everything well, with
 * the smallest change; undefined: one could, or none has joined, or one cannot say what it has.
 */
export function whyNeverFits(profile: Profile, needsAt: NeedsAt, nodes: readonly ClusterNode[]): string | undefined {
  if (nodes.length === 0 || !nodes.every(isKnown)) return undefined;
  const one = { ...askOf(profile, needsAt, NO_MATTER), nodes: 1 };
  const answers = explain(one, nodeViews(nodes.map(emptied), []), CAPACITY);
  if (answers.some(({ refusals }) => refusals.length === 0)) return undefined;
  const [nearest, ...others] = answers.toSorted(byLack);
  if (nearest === undefined) return undefined;
  const told = [nearest, ...others].slice(0, TOLD).map(answerInWords).join("; ");
  const rest = answers.length > TOLD ? `; and ${String(answers.length - TOLD)} more that lack as much or more` : "";
  return `no node could hold it, even empty: ${told}${rest}. The smallest change: ${changeInWords(nearest)}`;
}

/** A node of which something cannot be seen may have more than it says. */
const isKnown = ({ inventory }: ClusterNode): boolean =>
  inventory.memoryTotal > 0 && (inventory.problems.length === 0 || inventory.gpus.length > 0);

/** All that it has is there to be given. */
const emptied = (node: ClusterNode): ClusterNode => ({
  ...node,
  inventory: {
    ...node.inventory,
    memoryAvailable: node.inventory.memoryTotal,
    gpus: node.inventory.gpus.map((gpu) => ({ ...gpu, memoryFree: gpu.memoryTotal, problem: undefined })),
  },
});

const answerInWords = ({ node, refusals }: NodeAnswer): string =>
  `${node} ${refusals.map(({ reason }) => reason).join(", and ")}`;

/** For each rule that says no any one of its remedies is enough. */
const changeInWords = ({ node, refusals }: NodeAnswer): string =>
  `on ${node}, ${refusals.map(({ remedies }) => remedies.map(remedyInWords).join(", or ")).join(", and ")}`;

/** The one to which the least would have to be added comes first. */
function byLack(a: NodeAnswer, b: NodeAnswer): number {
  const [ofA, ofB] = [lackOf(a), lackOf(b)];
  return a.refusals.length - b.refusals.length || ofA.gpus - ofB.gpus || ofA.bytes - ofB.bytes;
}

function lackOf({ refusals }: NodeAnswer): { readonly gpus: number; readonly bytes: number } {
  const first = refusals.flatMap(({ remedies: [smallest] }): readonly Remedy[] =>
    smallest === undefined ? [] : [smallest],
  );
  return {
    gpus: first.reduce((sum, remedy) => sum + (remedy.kind === "free-gpus" ? remedy.more : 0), 0),
    bytes: first.reduce((sum, remedy) => sum + (remedy.kind === "free-memory" ? remedy.bytes : bytes(0)), 0),
  };
}
