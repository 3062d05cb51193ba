import { create } from "@bufbuild/protobuf";
import type { GangMember, GangOrder, GangTask, PeerFinding, RankPreparation, RankReport } from "../core/gang.ts";
import { millis, nodeId } from "../core/ids.ts";
import { type Replica, shareOn } from "../core/replica-state.ts";
import {
  type GangStatus,
  GangStatusSchema,
  GangTaskSchema,
  RankReportSchema,
  type GangTask as WireGangTask,
  type RankPreparation as WirePreparation,
  type RankReport as WireRankReport,
} from "./gen/llmgw/v1/gang_pb.js";
import { toText, toUint32 } from "./scalar.ts";

export const taskToWire = (task: GangTask): WireGangTask =>
  create(GangTaskSchema, {
    rank: toUint32(task.rank),
    ranks: toUint32(task.ranks),
    fabric: task.fabric,
    attempt: toUint32(task.attempt),
    order: task.order,
    members: task.members.map(({ node, address, port }) => ({ node, address, port: toUint32(port) })),
  });

/** Total. An order that is not understood is the most careful of ours: nothing is started. */
export const taskFromWire = (message: WireGangTask): GangTask => ({
  rank: message.rank,
  ranks: message.ranks,
  fabric: message.fabric,
  attempt: message.attempt,
  order: orderOf(message.order),
  members: message.members.map(({ node, address, port }): GangMember => ({ node: nodeId(node), address, port })),
});

const preparationToWire = ({ engine, weights, digest, address, port }: RankPreparation) => ({
  prepared: {
    engine: toText(engine),
    weights: toText(weights),
    digest: toText(digest),
    address: toText(address),
    port: toUint32(port),
  },
});

const preparationFromWire = ({ engine, weights, digest, address, port }: WirePreparation): RankPreparation => ({
  ...{ engine, weights, digest, address, port },
});

const orderOf = (word: string): GangOrder => (word === "check" || word === "run" ? word : "prepare");

export const reportToWire = (report: RankReport): WireRankReport =>
  create(RankReportSchema, {
    rank: toUint32(report.rank),
    attempt: toUint32(report.attempt),
    ...(report.prepared === undefined ? {} : preparationToWire(report.prepared)),
    checked: report.findings !== undefined,
    findings: (report.findings ?? []).map(({ peer, problem, clockAhead }) => ({
      peer: toUint32(peer),
      problem: toText(problem),
      clockAheadMs: toInt32(clockAhead),
    })),
    launched: report.launched,
    endedAtMs: report.endedAt ?? 0,
    retry: report.retry,
    blamesOthers: report.blamesOthers,
  });

export function reportFromWire(message: WireRankReport): RankReport {
  const { prepared, findings } = message;
  return {
    rank: message.rank,
    attempt: message.attempt,
    prepared: prepared === undefined ? undefined : preparationFromWire(prepared),
    findings: message.checked
      ? findings.map(({ peer, problem, clockAheadMs }): PeerFinding => ({ peer, problem, clockAhead: clockAheadMs }))
      : undefined,
    launched: message.launched,
    endedAt: message.endedAtMs > 0 ? millis(message.endedAtMs) : undefined,
    retry: message.retry,
    blamesOthers: message.blamesOthers,
  };
}

/** More than 24 days apart is the same as 24 days apart. */
const toInt32 = (value: number): number => Math.round(Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, value)));

/** Undefined for a replica on one node. `shown`: a text without what may not be shown of it. */
export function gangToWire({ gang, placement }: Replica, shown: (text: string) => string): GangStatus | undefined {
  if (gang === undefined || placement?.gang === undefined) return undefined;
  return create(GangStatusSchema, {
    fabric: placement.gang.fabric,
    attempt: toUint32(gang.attempt),
    ranks: gang.ranks.map(({ rank, node, state, note, pid }) => ({
      ...{ rank: toUint32(rank), node, state, note: shown(note), pid: toUint32(pid) },
      gpuUuids: [...(shareOn(placement, node)?.gpus ?? [])],
    })),
    check: shown(checkInWords(gang.check)),
    lastEnd: shown(gang.lastEnd),
  });
}

function checkInWords(check: NonNullable<Replica["gang"]>["check"]): string {
  if (check === undefined) return "";
  if (check.problems.length > 0) return check.problems.join("; ");
  const apart = `${String(check.clockSpread)} ms`;
  return `every rank reaches every other, builds and weights are the same, clocks are ${apart} apart`;
}
