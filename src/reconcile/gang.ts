import type { NewEvent } from "../core/event.ts";
import { formatDuration } from "../core/format.ts";
import {
  type Gang,
  type GangEnding,
  NEW_GANG,
  type RankReport,
  type RankState,
  type RankStatus,
} from "../core/gang.ts";
import { type Millis, millis, plus } from "../core/ids.ts";
import type { ObservedReplica } from "../core/observed.ts";
import { withoutKey } from "../core/redact.ts";
import { type Replica, type ReplicaState, type Share, sharesOf } from "../core/replica-state.ts";
import { sameValue } from "../core/same-value.ts";
import { type BackoffPolicy, ceilingOf } from "./backoff.ts";
import { listeningOf, type NodeReports, reportedState, type Sighting, sightingAt, stoppingWith } from "./follow.ts";
import { judgeCheck, membersOf, problemsBefore } from "./gang-check.ts";

/** What became of a replica that spans nodes, and what has to be said of it. */
export interface Followed {
  readonly replica: Replica;
  readonly events: readonly NewEvent[];
}

/** Attempts in a row that never became ready. */
const MOST_ATTEMPTS = 5;
/** A gang that served this long was a good one: its end begins a new count. */
const STABLE_AFTER = millis(60_000);
/** Longer than agents take to notice an end and to say so. */
const GATHER_ENDS = millis(500);
/** The cause of an end that blames others is worth a longer wait: on a loaded node it may be noticed late. */
const GATHER_CAUSE = millis(3_000);
const BACKOFF: BackoffPolicy = { base: millis(1_000), max: millis(60_000) };

/** One rank, as its node lets us know of it. */
interface Rank {
  readonly rank: number;
  readonly share: Share;
  readonly sighting: Sighting;
  readonly isSilent: boolean;
  /** What the node says of it in the present attempt; undefined: nothing, or it is still at an earlier one. */
  readonly said: { readonly observed: ObservedReplica; readonly report: RankReport } | undefined;
}

/**
 * All ranks or none: what follows for a gang from what its nodes say. Every rank prepares; when all have, the nodes try the
 * way to each other; when all can, all start. The first rank that ends ends the attempt, for all.
 */
export function followedGang(replica: Replica, reports: NodeReports, now: Millis): Followed {
  const gang = replica.gang ?? NEW_GANG;
  const ranks = sharesOf(replica.placement).map((share, rank) => rankOf({ replica, gang, share, rank }, reports));
  const shown = { ...replica, gang: withRanks(gang, ranks) };
  switch (listeningOf(replica.state)) {
    case "isDeaf":
      return { replica, events: [] };
    case "isLeaving":
      return moved(shown, leavingState(replica.state, ranks), now);
    case "follows":
      return followed({ replica: shown, gang: shown.gang, ranks, now });
  }
}

interface Following {
  readonly replica: Replica;
  readonly gang: Gang;
  readonly ranks: readonly Rank[];
  readonly now: Millis;
}

function rankOf(
  { replica, gang, share, rank }: { replica: Replica; gang: Gang; share: Share; rank: number },
  reports: NodeReports,
): Rank {
  const sighting = sightingAt(replica, share.node, reports);
  const isSilent = reports.get(share.node)?.liveness !== "connected";
  const observed = sighting.kind === "present" ? sighting.observed : undefined;
  const report = observed?.rank;
  const isPresent = report?.attempt === gang.attempt && report.rank === rank;
  const said = observed !== undefined && report !== undefined && isPresent ? { observed, report } : undefined;
  return { rank, share, sighting, isSilent, said };
}

const moved = (replica: Replica, state: ReplicaState, now: Millis): Followed => {
  if (sameValue(state, replica.state)) return { replica, events: [] };
  const since = state.kind === replica.state.kind ? replica.since : now;
  return { replica: { ...replica, state, since }, events: [] };
};

/** A rank that is lost with its node can be asked nothing; the others are told to stop, and are waited for. */
function leavingState(state: ReplicaState, ranks: readonly Rank[]): ReplicaState {
  const isLost = ranks.every(({ sighting }) => sighting.kind === "nodeLost");
  if (state.kind === "lost") return isLost ? state : { kind: "stopping", why: state.reason };
  if (isLost) return { kind: "lost", reason: `its nodes ${names(ranks)} are lost` };
  const why = "why" in state ? state.why : "";
  if (state.kind === "draining") return ranks.some(hasEnded) ? { kind: "stopping", why } : state;
  if (ranks.every(isGone)) return { kind: "stopped" };
  return state.kind === "stopping" ? stoppingWith(why, endWaitsFor(ranks)) : state;
}

/** What the end of one of them waits for. */
const endWaitsFor = (ranks: readonly Rank[]): string | undefined =>
  ranks.flatMap(({ share, sighting }) => {
    const state = sighting.kind === "present" ? sighting.observed.state : undefined;
    return state?.kind === "stopping" && state.note !== undefined ? [`${share.node}: ${state.note}`] : [];
  })[0];

const isGone = ({ sighting }: Rank): boolean => {
  if (sighting.kind === "present") return sighting.observed.state.kind === "stopped";
  return sighting.kind !== "unknown";
};

/**
 * With one rank gone there is nothing left to finish. That its node is given up is no proof: it may answer routers still, and
 * the end of the drain is near in any case.
 */
const hasEnded = (rank: Rank): boolean => {
  const { sighting } = rank;
  if (sighting.kind === "present" && ENDED.includes(sighting.observed.state.kind)) return true;
  return sighting.kind !== "nodeLost" && isGone(rank);
};

const ENDED: readonly ObservedReplica["state"]["kind"][] = ["failed", "stopping"];

const names = (ranks: readonly Rank[]): string => ranks.map(({ share }) => share.node).join(" and ");

/** First rule that applies wins. */
function followed(following: Following): Followed {
  const { replica, gang, ranks, now } = following;
  const gone = ranks.filter(({ sighting }) => sighting.kind === "nodeLost" || sighting.kind === "nodeRemoved");
  if (gone.length > 0) return moved(replica, withoutNodes(gone, ranks), now);
  // Given up for good: another replica takes its place when an operator asks for one.
  if (replica.state.kind === "failed") return { replica, events: [] };
  const ending = endingOf(following);
  if (ending !== undefined) return whileEnding(following, ending);
  if (gang.order === "prepare") return afterPreparing(following);
  if (gang.order === "check") return afterCheck(following);
  return moved(counted(replica, ranks), runningState(following), now);
}

function withoutNodes(gone: readonly Rank[], ranks: readonly Rank[]): ReplicaState {
  const isRemoved = gone.some(({ sighting }) => sighting.kind === "nodeRemoved");
  if (gone.length === ranks.length) {
    return isRemoved ? { kind: "stopped" } : { kind: "lost", reason: `its nodes ${names(ranks)} are lost` };
  }
  return { kind: "stopping", why: `its node ${names(gone)} ${isRemoved ? "was removed" : "is lost"}` };
}

/**
 * The rank whose end gives the reason, of those that are known to have ended; undefined: none has. It is the first that
 * ended by a cause of its own: one that lost a peer may be recorded as ended before that peer is.
 */
function endingOf({ replica, gang, ranks, now }: Following): GangEnding | undefined {
  const served = replica.state.kind === "ready" ? millis(now - replica.since) : undefined;
  const since = gang.ending?.since ?? now;
  const found = ranks.flatMap((rank): readonly GangEnding[] => {
    const state = rank.said?.observed.state;
    if (state?.kind !== "failed") return [];
    const { reason, lastLines } = state;
    const { retry = true, blamesOthers = false } = rank.said?.report ?? {};
    return [
      {
        since,
        served: gang.ending?.served ?? served,
        rank: rank.rank,
        at: endedAt(rank, ranks),
        reason,
        lastLines,
        retry,
        blamesOthers,
      },
    ];
  });
  const known = gang.ending === undefined ? [] : [gang.ending];
  return [...known, ...found].toSorted(
    (a, b) => Number(a.blamesOthers) - Number(b.blamesOthers) || a.at - b.at || a.rank - b.rank,
  )[0];
}

/** Nodes need a moment to say that their rank has ended; the first to say so is not always the first that did. */
function whileEnding(following: Following, ending: GangEnding): Followed {
  const { replica, gang, ranks, now } = following;
  const { rank, reason, lastLines, retry, served } = ending;
  const all = ranks.every(({ said }) => said?.observed.state.kind === "failed");
  const why = `rank ${String(rank)} on ${ranks[rank]?.share.node ?? ""}: ${reason}`;
  const patience = ending.blamesOthers ? GATHER_CAUSE : GATHER_ENDS;
  if (all || now - ending.since >= patience) return endOf(following, { reason: why, lastLines, retry, served });
  return moved({ ...replica, gang: { ...gang, ending } }, { kind: "starting", note: why }, now);
}

/** Why an attempt is over. */
interface End {
  readonly reason: string;
  readonly lastLines: readonly string[];
  readonly retry: boolean;
  /** How long it was ready; undefined: it never was. */
  readonly served: Millis | undefined;
}

/** By the head's clock, as far as the check found out how far the clocks are apart. */
function endedAt({ rank, said }: Rank, [head]: readonly Rank[]): number {
  const ahead = head?.said?.report.findings?.find(({ peer }) => peer === rank)?.clockAhead ?? 0;
  return (said?.report.endedAt ?? Number.MAX_SAFE_INTEGER) - ahead;
}

/** All ranks are to end, and to begin again together; or never, when it makes no sense. */
function endOf({ replica, gang, now }: Following, { reason, lastLines, retry, served }: End): Followed {
  const isStable = served !== undefined && served >= STABLE_AFTER;
  const failures = isStable ? 1 : gang.failures + 1;
  const givenUp = served === undefined && (!retry || failures >= MOST_ATTEMPTS);
  const delay = millis(ceilingOf(failures, BACKOFF));
  const next: Gang = {
    ...{ ...gang, ending: undefined, attempt: gang.attempt + 1, order: "prepare", members: [] },
    ...{ failures, lastEnd: reason, retryAt: plus(now, delay) },
  };
  const restarts = gang.order === "run" && !givenUp ? replica.restarts + 1 : replica.restarts;
  const after = { ...replica, gang: next, restarts, pid: undefined };
  if (givenUp) return moved(after, { kind: "failed", reason, lastLines }, now);
  const what = `${reason}; all ranks are stopped, and started together in ${formatDuration(delay)} at the earliest`;
  const { replica: ended } = moved(after, { kind: "starting", note: what }, now);
  return { replica: ended, events: [attemptEnded(replica, gang.attempt, what)] };
}

const attemptEnded = ({ id, apiKey }: Replica, attempt: number, what: string): NewEvent => ({
  level: "warning",
  subjectKind: "replica",
  subject: id,
  reason: "GangAttemptEnded",
  message: `${id}: attempt ${String(attempt)} is over: ${withoutKey(what, apiKey)}`,
});

function afterPreparing(following: Following): Followed {
  const { replica, gang, ranks, now } = following;
  const prepared = ranks.flatMap(({ share, said }) =>
    said?.report.prepared === undefined ? [] : [{ node: share.node, prepared: said.report.prepared }],
  );
  if (prepared.length < ranks.length || now < gang.retryAt) {
    return moved(replica, preparingState(following), now);
  }
  const problems = problemsBefore(prepared);
  if (problems.length > 0) {
    const check = { attempt: gang.attempt, at: now, problems, clockSpread: 0 };
    return endOf({ ...following, gang: { ...gang, check } }, together(problems));
  }
  const next: Gang = { ...gang, order: "check", members: membersOf(prepared) };
  return moved({ ...replica, gang: next }, { kind: "starting", note: CHECKING }, now);
}

const CHECKING = "its nodes try the way to each other";

const together = (problems: readonly string[]): End => ({
  served: undefined,
  reason: `before the start: ${problems.join("; ")}`,
  lastLines: [],
  retry: true,
});

function afterCheck(following: Following): Followed {
  const { replica, gang, ranks, now } = following;
  const checked = ranks.flatMap(({ share, said }) =>
    said?.report.findings === undefined ? [] : [{ node: share.node, findings: said.report.findings }],
  );
  if (checked.length < ranks.length) {
    return moved(replica, { kind: "starting", note: `${CHECKING}${silentInWords(ranks)}` }, now);
  }
  const check = judgeCheck(checked, { attempt: gang.attempt, now });
  if (check.problems.length > 0) return endOf({ ...following, gang: { ...gang, check } }, together(check.problems));
  const next: Gang = { ...gang, order: "run", check };
  return moved({ ...replica, gang: next }, { kind: "starting", note: "all ranks start" }, now);
}

/** Of the rank that has the most before it; what of it is not known is said by the others. */
function preparingState({ replica, gang, ranks, now }: Following): ReplicaState {
  const waiting = silentInWords(ranks);
  if (gang.failures > 0) {
    const left = gang.retryAt - now;
    const then = left > 0 ? `next try in ${formatDuration(millis(Math.max(1000, left)))}` : "all ranks prepare again";
    return { kind: "starting", note: `${gang.lastEnd}; ${then}${waiting}` };
  }
  const busy = ranks.filter(({ said }) => said !== undefined && said.report.prepared === undefined);
  for (const { said, share } of busy) {
    const state = said?.observed.state;
    if (state?.kind !== "preparing" || state.progress === undefined) continue;
    const what = `${share.node}: ${state.progress.what}`;
    return { kind: "preparing", progress: { ...state.progress, what } };
  }
  if (ranks.every(({ said }) => said === undefined)) return replica.state;
  return { kind: "preparing", progress: undefined };
}

const silentInWords = (ranks: readonly Rank[]): string => {
  const silent = ranks.filter(({ isSilent }) => isSilent);
  return silent.length === 0 ? "" : ` (${names(silent)} is silent)`;
};

/** The head speaks for all: its answer comes from all ranks together. */
function runningState({ replica, ranks }: Following): ReplicaState {
  const [head] = ranks;
  const state = head?.said?.observed.state;
  if (state === undefined || head?.said?.report.launched !== true) return replica.state;
  return reportedState(state);
}

function counted(replica: Replica, [head]: readonly Rank[]): Replica {
  const pid = head?.said?.observed.pid;
  return head?.said === undefined || pid === replica.pid ? replica : { ...replica, pid };
}

/** The same object when nothing differs. */
function withRanks(gang: Gang, ranks: readonly Rank[]): Gang {
  const shown = ranks.map((rank) => statusOf(rank, gang));
  return sameValue(shown, gang.ranks) ? gang : { ...gang, ranks: shown };
}

function statusOf({ rank, share, sighting, isSilent, said }: Rank, { ranks }: Gang): RankStatus {
  const of = { rank, node: share.node };
  if (isSilent) return { ...of, state: "unreachable", note: "", pid: ranks[rank]?.pid };
  if (said === undefined) {
    const state = sighting.kind === "present" ? "stopping" : "waiting";
    return { ...of, state, note: "", pid: sighting.kind === "present" ? sighting.observed.pid : undefined };
  }
  const { observed, report } = said;
  return { ...of, state: rankState(observed, report), note: noteOf(observed), pid: observed.pid };
}

function rankState({ state }: ObservedReplica, { prepared, findings, launched }: RankReport): RankState {
  if (state.kind === "failed" || state.kind === "stopped") return "ended";
  if (state.kind === "stopping") return "stopping";
  if (launched) return state.kind === "ready" ? "running" : "starting";
  if (findings !== undefined) return "checked";
  return prepared === undefined ? "preparing" : "prepared";
}

function noteOf({ state }: ObservedReplica): string {
  if (state.kind === "failed") return state.reason;
  if (state.kind === "starting") return state.note;
  return state.kind === "preparing" ? (state.progress?.what ?? "") : "";
}
