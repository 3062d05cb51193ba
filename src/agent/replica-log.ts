import type { ReplicaId } from "../core/ids.ts";
import { assertNever } from "../core/result.ts";
import type { Logger } from "../platform/logger.ts";
import type { Supervision } from "../reconcile/supervision.ts";

/** So many health requests in a row without an answer are worth a line; a busy engine misses one or two. */
const SLOW_AFTER = 3;

interface Change {
  readonly before: Supervision;
  readonly next: Supervision;
  readonly engine: string;
}

/** One line for each turn in a replica's life, none for what only goes on. */
export function tellChange(logger: Logger, id: ReplicaId, { before, next, engine }: Change): void {
  if (before.state.kind === next.state.kind) {
    tellHealth(logger, id, { before, next });
    return;
  }
  const line = lineOf(next, engine);
  if (line !== undefined) logger[line.level](`replica ${id} ${line.text}`);
}

interface Line {
  readonly level: "info" | "warn" | "error";
  readonly text: string;
}

/** Undefined: nothing that a person would want to know. */
function lineOf({ state, lastEnd }: Supervision, engine: string): Line | undefined {
  switch (state.kind) {
    case "starting":
      return {
        level: "info",
        text: `was started: ${engine}, pid ${String(state.process.pid)}, port ${String(state.endpoint.port)}`,
      };
    case "ready":
      return { level: "info", text: `is ready on ${state.endpoint.host}:${String(state.endpoint.port)}` };
    case "stopping":
      return stoppingLine(state);
    case "backoff":
      return { level: "warn", text: `will be tried again: ${lastEnd}` };
    case "stopped":
      return { level: "info", text: "has stopped" };
    case "failed":
      return { level: "error", text: `failed and is left so until it is changed or restarted: ${state.reason}` };
    case "preparing":
    case "launching":
    case "abandoning":
      return undefined;
    default:
      return assertNever(state);
  }
}

function stoppingLine({ outcome }: Extract<Supervision["state"], { kind: "stopping" }>): Line {
  if (outcome.kind === "stopped") return { level: "info", text: "is being stopped" };
  return { level: "warn", text: `is being ended for a new start: ${outcome.attempt.end.reason}` };
}

function tellHealth(logger: Logger, id: ReplicaId, { before, next }: Omit<Change, "engine">): void {
  if (before.state.kind !== "ready" || next.state.kind !== "ready") return;
  const [was, is] = [before.state.unanswered, next.state.unanswered];
  if (was < SLOW_AFTER && is >= SLOW_AFTER) {
    logger.warn(
      `replica ${id} is slow: ${String(is)} health requests without an answer; its process lives and is left alone`,
    );
  }
  if (was >= SLOW_AFTER && is === 0) logger.info(`replica ${id} answers its health requests again`);
}
