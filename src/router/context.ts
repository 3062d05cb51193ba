import type { Clock } from "../platform/clock.ts";
import type { RoutingPolicy } from "../routing/policy.ts";
import type { Accounts } from "./account.ts";
import type { HttpExchange } from "./client/http-exchange.ts";
import type { EngineEndpoint } from "./endpoints.ts";
import type { ErrorShape } from "./error-body.ts";
import type { Exchange } from "./exchange.ts";
import type { Fleet } from "./fleet.ts";
import type { RouterLimits } from "./limits.ts";
import type { RouterMetrics } from "./metrics.ts";
import type { Visit } from "./keys/visit.ts";
import type { RescueRoom } from "./rescue/room.ts";
import type { RequestTracer } from "./tracing.ts";

/** What every exchange of a router shares. */
export interface ExchangeContext {
  readonly fleet: Fleet;
  readonly policy: RoutingPolicy;
  /** For whoever asks why a request went where it did. */
  readonly policyName: string;
  readonly random: () => number;
  readonly clock: Clock;
  readonly limits: RouterLimits;
  /** Whether streams are made to count their tokens, and the counts taken out again where the client did not ask. */
  readonly asksUsage: boolean;
  /** Where streams are kept so that another replica can go on; undefined: none does. */
  readonly rescues: RescueRoom | undefined;
  readonly metrics: RouterMetrics;
  readonly accounts: Accounts;
  /** Undefined: nobody collects traces. */
  readonly tracer: RequestTracer | undefined;
  /** Called once when the exchange is over. `socket`: the connection of HTTP/1.1 that carried it. */
  onSettled(exchange: Exchange, socket: HttpExchange["socket"]): void;
}

export interface ExchangeRequest extends HttpExchange {
  readonly requestId: string;
  readonly path: string;
  /** Path and query. */
  readonly target: string;
  readonly shape: ErrorShape;
  readonly endpoint: EngineEndpoint;
  readonly visit: Visit;
  /** CORS and the like: names and values in turn, on every answer. */
  readonly extraHeaders: readonly string[];
}
