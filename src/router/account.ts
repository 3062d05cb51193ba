import type { IncomingMessage } from "node:http";
import type { Millis } from "../core/ids.ts";
import type { Logger } from "../platform/logger.ts";
import { type RouterMetrics, UNKNOWN_MODEL } from "./metrics.ts";
import type { Usage } from "./usage.ts";

/** How a request ended, for the numbers and the log. */
export interface Ending {
  /** What the request counts as: the status sent, unless a stream broke after it or the client left. */
  readonly code: number;
  /** complete, or what went wrong. */
  readonly outcome: string;
  /** In words, for the log. */
  readonly detail?: string;
}

/** What becomes known of a request on its way. Times are on the monotonic clock. */
export interface Trace {
  readonly requestId: string;
  readonly clientRequestId: string | undefined;
  readonly method: string;
  readonly path: string;
  /** The name of the client's key; undefined where none is asked for. */
  readonly key: string | undefined;
  readonly startedAt: Millis;
  uploadedAt: Millis | undefined;
  handedOverAt: Millis | undefined;
  firstTokenAt: Millis | undefined;
  /** Undefined when the request named none that is served. */
  model: string | undefined;
  replica: string | undefined;
  attempts: number;
  bytesIn: number;
  bytesOut: number;
  usage: Usage | undefined;
}

/** A trace of a request that has just come, and of which nothing else is known yet. */
export function newTrace(
  request: { readonly requestId: string; readonly path: string; readonly visit: { readonly key: string | undefined } },
  { method, headers }: Pick<IncomingMessage, "method" | "headers">,
  now: Millis,
): Trace {
  const clientRequestId = headers["x-client-request-id"];
  return {
    requestId: request.requestId,
    clientRequestId: typeof clientRequestId === "string" ? clientRequestId.slice(0, 128) : undefined,
    method: method ?? "",
    path: request.path,
    key: request.visit.key,
    startedAt: now,
    uploadedAt: undefined,
    handedOverAt: undefined,
    firstTokenAt: undefined,
    model: undefined,
    replica: undefined,
    attempts: 0,
    bytesIn: 0,
    bytesOut: 0,
    usage: undefined,
  };
}

/** One request's end: into the numbers, and one line into the log. Never its content, never a key. */
export class Accounts {
  readonly #metrics: RouterMetrics;
  readonly #logger: Logger;

  constructor(metrics: RouterMetrics, logger: Logger) {
    this.#metrics = metrics;
    this.#logger = logger;
  }

  settle(trace: Trace, ending: Ending, now: Millis): void {
    const { model = UNKNOWN_MODEL, usage, startedAt, firstTokenAt } = trace;
    this.#metrics.finished({
      model,
      code: ending.code,
      duration: (now - startedAt) / 1000,
      firstToken: between(startedAt, firstTokenAt),
      perToken: perToken(trace, now),
      overhead: between(trace.uploadedAt, trace.handedOverAt),
      usage,
    });
    this.#logger.info(
      {
        request_id: trace.requestId,
        client_request_id: trace.clientRequestId,
        method: trace.method,
        path: trace.path,
        key: trace.key,
        model: trace.model,
        replica: trace.replica,
        attempts: trace.attempts,
        code: ending.code,
        outcome: ending.outcome,
        detail: ending.detail,
        ms: Math.round(now - startedAt),
        ttft_ms: firstTokenAt === undefined ? undefined : Math.round(firstTokenAt - startedAt),
        bytes_in: trace.bytesIn,
        bytes_out: trace.bytesOut,
        prompt_tokens: usage?.prompt,
        cached_tokens: usage?.cached,
        completion_tokens: usage?.completion,
      },
      "request",
    );
  }
}

const between = (from: Millis | undefined, to: Millis | undefined): number | undefined =>
  from === undefined || to === undefined ? undefined : (to - from) / 1000;

function perToken({ firstTokenAt, usage }: Trace, now: Millis): number | undefined {
  if (firstTokenAt === undefined || usage === undefined || usage.completion < 2) return undefined;
  return (now - firstTokenAt) / 1000 / (usage.completion - 1);
}
