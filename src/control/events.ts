import type { NewEvent } from "../core/event.ts";
import { nodeState } from "../core/node.ts";
import { withoutKey } from "../core/redact.ts";
import { nodesOf, type Replica, type ReplicaKind } from "../core/replica-state.ts";
import type { Snapshot, StoredNode } from "../store/store.ts";
import { replicaReason } from "../wire/replica-reason.ts";

/** What happened between two snapshots, for whoever asks later. */
export function eventsBetween(before: Snapshot, after: Snapshot): readonly NewEvent[] {
  return [
    ...changed(before.nodes, after.nodes).flatMap(({ was, is }) => [...nodeEvents(was, is), ...drainEvents(was, is)]),
    ...changed(before.replicas, after.replicas).flatMap(({ was, is }) => replicaEvents(was, is)),
  ];
}

interface Change<T> {
  readonly was: T | undefined;
  readonly is: T;
}

function changed<T extends { readonly id: string }>(before: readonly T[], after: readonly T[]): readonly Change<T>[] {
  if (before === after) return [];
  const old = new Map(before.map((item) => [item.id, item]));
  return after.flatMap((is) => {
    const was = old.get(is.id);
    return was === is ? [] : [{ was, is }];
  });
}

function nodeEvents(was: StoredNode | undefined, is: StoredNode): readonly NewEvent[] {
  const event = (reason: string, level: NewEvent["level"], message: string): NewEvent[] => [
    { level, subjectKind: "node", subject: is.id, reason, message },
  ];
  const { hostname, address, problems } = is.inventory;
  if (was === undefined) return event("NodeJoined", "info", `${is.id} joined from ${hostname} at ${address}`);
  if (was.liveness !== is.liveness) {
    if (is.liveness === "connected") return event("NodeBack", "info", `${is.id} is back after it was ${was.liveness}`);
    const [reason, what] =
      is.liveness === "lost"
        ? ["NodeLost", "is silent for so long that its replicas are given up"]
        : ["NodeUnreachable", "is unreachable; its engines go on serving"];
    return event(reason, is.liveness === "lost" ? "error" : "warning", `${is.id} ${what}`);
  }
  if (nodeState(was) !== nodeState(is)) {
    if (problems.length === 0) return event("NodeHealthy", "info", `${is.id} has no problems any more`);
    return event("NodeDegraded", "warning", `${is.id}: ${problems.join("; ")}`);
  }
  return [];
}

function drainEvents(was: StoredNode | undefined, { id, drain }: StoredNode): readonly NewEvent[] {
  if (was?.drain === undefined || drain !== undefined) return [];
  const message = `${id} is drained: no replica is left on it, and it gets none until \`llmgw ctl uncordon ${id}\``;
  return [{ level: "info", subjectKind: "node", subject: id, reason: "NodeDrained", message }];
}

const REASONS: Readonly<Record<ReplicaKind, { readonly reason: string; readonly level: NewEvent["level"] }>> = {
  pending: { reason: "ReplicaPending", level: "info" },
  placed: { reason: "ReplicaPlaced", level: "info" },
  preparing: { reason: "ReplicaPreparing", level: "info" },
  starting: { reason: "ReplicaStarting", level: "info" },
  ready: { reason: "ReplicaReady", level: "info" },
  draining: { reason: "ReplicaDraining", level: "info" },
  stopping: { reason: "ReplicaStopping", level: "info" },
  stopped: { reason: "ReplicaStopped", level: "info" },
  failed: { reason: "ReplicaFailed", level: "error" },
  lost: { reason: "ReplicaLost", level: "warning" },
};

function replicaEvents(was: Replica | undefined, is: Replica): readonly NewEvent[] {
  if (was?.state.kind === is.state.kind) return [];
  const { reason, level } = REASONS[is.state.kind];
  // A ready engine that begins again has crashed.
  const isSetback = was?.state.kind === "ready" && (is.state.kind === "starting" || is.state.kind === "placed");
  return [
    {
      level: isSetback ? "warning" : level,
      subjectKind: "replica",
      subject: is.id,
      reason,
      message: `${is.id} is ${is.state.kind}${where(is)}: ${words(is)}`,
    },
  ];
}

const where = ({ placement }: Replica): string => (placement === undefined ? "" : ` on ${nodesOf(placement)}`);

const words = ({ state, apiKey }: Replica): string => withoutKey(replicaReason(state, 0), apiKey);
