import { hostAndPort } from "../core/host-port.ts";
import type { ReplicaId } from "../core/ids.ts";
import type { Logger } from "../platform/logger.ts";
import type { SupervisedState, Supervision } from "../reconcile/supervision.ts";

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
  const line = lineOf(next.state.kind, next.state, { lastEnd: next.lastEnd, engine });
  if (line !== undefined) logger[line.level](`replica ${id} ${line.text}`);
}

interface Line {
  readonly level: "info" | "warn" | "error";
  readonly text: string;
}

type StateOf = { readonly [S in SupervisedState as S["kind"]]: S };
type Beside = Pick<Supervision, "lastEnd"> & { readonly engine: string };

const nothing = (): undefined => undefined;

/** Undefined: nothing that a person would want to know. */
const LINES: { readonly [K in SupervisedState["kind"]]: (state: StateOf[K], beside: Beside) => Line | undefined } = {
  starting: ({ process, endpoint }, { engine }) => ({
    level: "info",
    text: `was started: ${engine}, pid ${String(process.pid)}, port ${String(endpoint.port)}`,
  }),
  ready: ({ endpoint }) => ({ level: "info", text: `is ready on ${hostAndPort(endpoint.host, endpoint.port)}` }),
  stopping: stoppingLine,
  backoff: (_, { lastEnd }) => ({ level: "warn", text: `will be tried again: ${lastEnd}` }),
  stopped: () => ({ level: "info", text: "has stopped" }),
  failed: ({ reason }) => ({
    level: "error",
    text: `failed and is left so until it is changed or restarted: ${reason}`,
  }),
  waiting: () => ({ level: "info", text: "has its engine and weights, and waits for the other ranks" }),
  preparing: nothing,
  launching: nothing,
  abandoning: nothing,
};

const lineOf = <K extends SupervisedState["kind"]>(kind: K, state: StateOf[K], beside: Beside): Line | undefined =>
  LINES[kind](state, beside);

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
