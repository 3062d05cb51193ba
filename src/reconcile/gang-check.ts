import type { GangCheck, GangMember, RankPreparation, RankReport } from "../core/gang.ts";
import { formatDuration } from "../core/format.ts";
import { type Millis, millis, type NodeId } from "../core/ids.ts";

/** Further apart than this, logs and certificates of the ranks contradict each other, and a node has lost its time server. */
const MOST_CLOCK_SPREAD = millis(5_000);

/** A rank as it described itself. */
export interface PreparedRank {
  readonly node: NodeId;
  readonly prepared: RankPreparation;
}

/** A rank with what its node found out about the others. */
export interface CheckedRank {
  readonly node: NodeId;
  readonly findings: NonNullable<RankReport["findings"]>;
}

/** What can be said before the nodes try to reach each other. In the order of ranks; empty: nothing speaks against it. */
export function problemsBefore([head, ...others]: readonly PreparedRank[]): readonly string[] {
  if (head === undefined) return [];
  const all = [head, ...others];
  const differences = others.flatMap(({ node, prepared }) => [
    ...(prepared.engine === head.prepared.engine
      ? []
      : [`${node} has ${prepared.engine}, and the head ${head.node} has ${head.prepared.engine}`]),
    ...(isSameModel(prepared, head.prepared)
      ? []
      : [`the model's files on ${node} are not those on the head ${head.node}: another revision`]),
  ]);
  // On one machine, such as in a trial, they can meet on loopback; several machines cannot.
  const isTrial = all.every(({ prepared }) => isLoopback(prepared.address));
  const unreachable = all
    .filter(({ prepared: { address } }) => address === "" || (isLoopback(address) && !isTrial))
    .map(({ node, prepared: { address } }) =>
      address === ""
        ? `${node} has no address that the others could reach: set mgmt_addr in its agent.yaml`
        : `${node} gives ${address} as its address, on which no other node reaches it: set mgmt_addr in its agent.yaml`,
    );
  return [...differences, ...unreachable];
}

/** Files that were placed by hand have no digest that is known; then their names and sizes have to do. */
const isSameModel = (a: RankPreparation, b: RankPreparation): boolean =>
  a.weights === b.weights && (a.digest === b.digest || a.digest === "" || b.digest === "");

const isLoopback = (address: string): boolean =>
  address.startsWith("127.") || address === "::1" || address === "localhost";

/** What the nodes found out about each other. In the order of ranks. */
export function judgeCheck(
  ranks: readonly CheckedRank[],
  { attempt, now }: { readonly attempt: number; readonly now: Millis },
): GangCheck {
  const nodeOf = (rank: number): string => ranks[rank]?.node ?? `rank ${String(rank)}`;
  const unreached = ranks.flatMap(({ node, findings }, rank) =>
    ranks.flatMap((_, peer) => {
      if (peer === rank) return [];
      const finding = findings.find((one) => one.peer === peer);
      if (finding === undefined) return [`${node} did not try the way to ${nodeOf(peer)}`];
      return finding.problem === "" ? [] : [`${node} to ${nodeOf(peer)}: ${finding.problem}`];
    }),
  );
  const ahead = ranks.flatMap(({ findings }) => findings.filter(({ problem }) => problem === ""));
  const clockSpread = Math.max(0, ...ahead.map(({ clockAhead }) => Math.abs(clockAhead)));
  const worst = ranks.flatMap(({ node, findings }) =>
    findings
      .filter(({ problem, clockAhead }) => problem === "" && clockAhead > MOST_CLOCK_SPREAD)
      .map(
        ({ peer, clockAhead }) =>
          `the clock of ${nodeOf(peer)} is ${formatDuration(millis(clockAhead))} ahead of that of ${node}, and at most ` +
          `${formatDuration(MOST_CLOCK_SPREAD)} are allowed: set both by one time server`,
      ),
  );
  return { attempt, at: now, problems: [...unreached, ...worst], clockSpread: Math.round(clockSpread) };
}

/** Where the ranks meet, once all of them have said so. */
export const membersOf = (ranks: readonly PreparedRank[]): readonly GangMember[] =>
  ranks.map(({ node, prepared: { address, port } }) => ({ node, address, port }));
