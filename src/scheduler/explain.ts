import type { NodeId } from "../core/ids.ts";
import type { Ask } from "./ask.ts";
import { islandsOf, whyAlone } from "./island.ts";
import { byNodeId, type NodeView } from "./node-view.ts";
import { weightedScore } from "./place.ts";
import type { Remedy } from "./remedy.ts";
import type { PlacementPolicy } from "./rules.ts";

/** One rule's no, with what would make it a yes. */
interface Refusal {
  /** The rule that said no. */
  readonly filter: string;
  readonly reason: string;
  /** Any one of them is enough for this rule; the smallest first. Empty: nothing that is known of would do. */
  readonly remedies: readonly Remedy[];
}

/** What a node says to an ask. */
export interface NodeAnswer {
  readonly node: NodeId;
  /** Every rule that says no. Empty: the node would take it. */
  readonly refusals: readonly Refusal[];
  /** Of a node that would take it; the highest gets it. */
  readonly score: number | undefined;
}

/** Every rule's answer for every node: unlike placing, which is content with the first no. */
export function explain(ask: Ask, views: readonly NodeView[], policy: PlacementPolicy): readonly NodeAnswer[] {
  const answers = views.toSorted(byNodeId).map((view): Asked => {
    const refusals = policy.filters.flatMap((filter): readonly Refusal[] => {
      const reason = filter.check(view, ask);
      return reason === undefined ? [] : [{ filter: filter.name, reason, remedies: filter.remedies(view, ask) }];
    });
    const score = refusals.length === 0 ? weightedScore(view, ask, policy.scorers) : undefined;
    return { view, answer: { node: view.node.id, refusals, score } };
  });
  return ask.nodes === 1 ? answers.map(({ answer }) => answer) : withIslands(answers, ask);
}

interface Asked {
  readonly view: NodeView;
  readonly answer: NodeAnswer;
}

/** A node that would take a rank is of no use where too few others of its kind would. */
function withIslands(asked: readonly Asked[], ask: Ask): readonly NodeAnswer[] {
  const able = asked.filter(({ answer }) => answer.refusals.length === 0).map(({ view }) => view);
  const islands = islandsOf(able, ask);
  return asked.map(({ view, answer }) => {
    const alone = answer.refusals.length === 0 ? whyAlone(view, islands, ask) : undefined;
    return alone === undefined ? answer : { ...answer, refusals: [{ filter: "island", ...alone }], score: undefined };
  });
}
