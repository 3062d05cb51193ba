import type { ClientRequest } from "./client/http-exchange.ts";
import type { Millis } from "../core/ids.ts";
import type { ReplicaRoute } from "../core/route.ts";
import type { TokenUse } from "../core/usage.ts";
import type { Ending, Trace } from "./account.ts";

/** Follows requests for whoever collects traces. */
export interface RequestTracer {
  /** Undefined: this request is not recorded. */
  begin(req: Pick<ClientRequest, "method" | "headers">, path: string): RequestSpan | undefined;
}

/** One request, from its head to its end. Never its content. */
export interface RequestSpan {
  /** It has waited so long for an engine's slot, until now. */
  waited(duration: Millis): void;
  /** It is sent to a replica. Answers what the engine is told of the trace: the value of a traceparent header. */
  sent(trace: Trace, replica: ReplicaRoute): string;
  /** What it was sent for has failed. */
  failed(detail: string): void;
  end(trace: Trace, ending: Ending, tokens: TokenUse): void;
}
