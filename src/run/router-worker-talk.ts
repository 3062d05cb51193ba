import type { RouterConfig } from "../config/router.ts";
import type { LogFormat, LogLevel } from "../platform/logger.ts";
import type { MetricsJson } from "../router/workers/sum-metrics.ts";
import type { WorkerPart } from "../router/workers/part.ts";

/** What a worker needs to begin. It is sent and not read again: the file may be another by then, and a token is in it. */
export interface WorkerStart {
  readonly config: RouterConfig;
  readonly stateDir: string;
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly part: WorkerPart;
}

export type ToWorker =
  | { readonly kind: "start"; readonly start: WorkerStart }
  | { readonly kind: "report"; readonly asked: number }
  | { readonly kind: "reload" }
  | { readonly kind: "stop" };

export type FromWorker =
  | { readonly kind: "ready-to-start" }
  | { readonly kind: "started"; readonly url: string }
  /** It ends after this: another try would come to the same. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | { readonly kind: "report"; readonly asked: number; readonly metrics: MetricsJson; readonly notReady: string };
