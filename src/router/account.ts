import type { ClientRequest } from "./client/http-exchange.ts";
import { ERRORS } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import type { Attempt, TokenUse, UsageRecord } from "../core/usage.ts";
import type { Clock } from "../platform/clock.ts";
import { InfoLines, type Logger } from "../platform/logger.ts";
import { type RouterMetrics, UNKNOWN_MODEL } from "./metrics.ts";
import { TokenRates, tokenUseOf } from "./token-use.ts";
import type { RequestSpan } from "./tracing.ts";
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

/** A try that is under way may still fail. */
type Try = Omit<Attempt, "failure"> & { failure: string };

/** Requests that have begun in this process. */
let begun = 0;

/** What becomes known of a request on its way. Times are on the monotonic clock. */
export interface Trace {
  /** Counts up with each request of the process. */
  readonly opened: number;
  readonly requestId: string;
  readonly clientRequestId: string | undefined;
  /** Which try of the client's own this is: official clients repeat what fails, and say so. */
  readonly clientRetry: string | undefined;
  readonly method: string;
  readonly path: string;
  /** The name of the client's key; undefined where none is asked for. */
  readonly key: string | undefined;
  readonly keyId: string | undefined;
  readonly startedAt: Millis;
  uploadedAt: Millis | undefined;
  handedOverAt: Millis | undefined;
  firstTokenAt: Millis | undefined;
  /** Undefined when the request named none that is served. */
  model: string | undefined;
  profile: string | undefined;
  replica: string | undefined;
  attempts: number;
  readonly tries: Try[];
  /** In the queue for an engine's slot. */
  waited: Millis;
  bytesIn: number;
  bytesOut: number;
  isStream: boolean;
  /** Data events that came. */
  events: number;
  /** As far as the engine has said it. */
  usage: Usage | undefined;
  usageAtStart: Usage | undefined;
  /** It was said by several engines, and where one ended and the next began is known by events and not by counts. */
  isPieced: boolean;
  /** Undefined: it is not recorded. */
  span: RequestSpan | undefined;
}

/** A trace of a request that has just come, and of which nothing else is known yet. */
export function newTrace(
  request: {
    readonly requestId: string;
    readonly path: string;
    readonly visit: { readonly key: string | undefined; readonly keyId: string | undefined };
  },
  { method, headers }: Pick<ClientRequest, "method" | "headers">,
  now: Millis,
): Trace {
  const { "x-client-request-id": clientRequestId, "x-stainless-retry-count": clientRetry } = headers;
  begun += 1;
  return {
    opened: begun,
    requestId: request.requestId,
    clientRetry: typeof clientRetry === "string" && /^[1-9]\d{0,2}$/.test(clientRetry) ? clientRetry : undefined,
    clientRequestId: typeof clientRequestId === "string" ? clientRequestId.slice(0, 128) : undefined,
    method: method ?? "",
    path: request.path,
    key: request.visit.key,
    keyId: request.visit.keyId,
    startedAt: now,
    uploadedAt: undefined,
    handedOverAt: undefined,
    firstTokenAt: undefined,
    model: undefined,
    profile: undefined,
    replica: undefined,
    attempts: 0,
    tries: [],
    waited: millis(0),
    bytesIn: 0,
    bytesOut: 0,
    isStream: false,
    events: 0,
    usage: undefined,
    usageAtStart: undefined,
    isPieced: false,
    span: undefined,
  };
}

/** Takes records of requests to where they are kept for good. */
export interface UsageSink {
  /** The record without its number, which is the sink's to give. */
  add(record: Omit<UsageRecord, "number">): void;
}

export interface AccountsOptions {
  readonly metrics: RouterMetrics;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly sink: UsageSink;
}

/** Requests that no engine saw, of which so many a second are recorded: a client that is refused and tries again fills no disk. */
const RECORDED_REFUSALS = 50;

/** One request's end: into the numbers and the records, and one line into the log. Never its content, never a key. */
export class Accounts {
  readonly #options: AccountsOptions;
  readonly #lines: InfoLines;
  /** By model: the names are those that are served. */
  readonly #rates = new Map<string, TokenRates>();
  #second = 0;
  #refusals = 0;

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.#lines = new InfoLines(options.logger);
  }

  /** What the request counts as. Only its end is to ask: what was counted teaches what to guess. */
  tokens(trace: Trace, ending: Ending): TokenUse {
    const model = trace.model ?? UNKNOWN_MODEL;
    const rates = this.#rates.get(model) ?? new TokenRates();
    this.#rates.set(model, rates);
    return tokenUseOf(trace, ending, rates);
  }

  /** What the request is recorded as should the process be ended now, by what has come so far. */
  soFar(trace: Trace): Omit<UsageRecord, "number"> {
    const { clock } = this.#options;
    const ending: Ending = {
      code: ERRORS.ENGINE_BROKE_OFF.http,
      outcome: "router_ended",
      detail: "the router was killed",
    };
    const rates = this.#rates.get(trace.model ?? UNKNOWN_MODEL) ?? new TokenRates();
    const tokens = tokenUseOf({ ...trace, usage: undefined }, ending, rates);
    return recordOf(trace, ending, { tokens, now: clock.monotonic(), endedAt: clock.now() });
  }

  settle(trace: Trace, ending: Ending, tokens: TokenUse): void {
    const { clock, metrics, sink } = this.#options;
    const now = clock.monotonic();
    const { model = UNKNOWN_MODEL, startedAt, firstTokenAt } = trace;
    metrics.finished({
      model,
      code: ending.code,
      duration: (now - startedAt) / 1000,
      firstToken: between(startedAt, firstTokenAt),
      perToken: perToken(trace, tokens, now),
      overhead: between(trace.uploadedAt, trace.handedOverAt),
      usage: tokens,
    });
    trace.span?.end(trace, ending, tokens);
    this.#log(trace, ending, { tokens, now });
    if (trace.handedOverAt !== undefined || this.#isWorthARecord(now)) {
      sink.add(recordOf(trace, ending, { tokens, now, endedAt: clock.now() }));
    }
  }

  #isWorthARecord(now: Millis): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#refusals = 0;
    this.#second = second;
    this.#refusals += 1;
    return this.#refusals <= RECORDED_REFUSALS;
  }

  #log(trace: Trace, ending: Ending, { tokens, now }: { readonly tokens: TokenUse; readonly now: Millis }): void {
    const { startedAt, firstTokenAt, usage } = trace;
    const lines = this.#lines;
    if (!lines.isOn) return;
    const counted =
      usage === undefined && !tokens.estimated
        ? ""
        : lines.number("prompt_tokens", tokens.prompt) +
          lines.number("cached_tokens", tokens.cached) +
          lines.number("completion_tokens", tokens.completion);
    const fields =
      lines.id("request_id", trace.requestId) +
      lines.id("client_request_id", trace.clientRequestId) +
      lines.text("client_retry", trace.clientRetry) +
      lines.text("method", trace.method) +
      lines.text("path", trace.path) +
      lines.text("key", trace.key) +
      lines.text("model", trace.model) +
      lines.text("replica", trace.replica) +
      lines.number("attempts", trace.attempts) +
      lines.number("code", ending.code) +
      lines.text("outcome", ending.outcome) +
      lines.text("detail", ending.detail) +
      lines.number("ms", Math.round(now - startedAt)) +
      lines.number("ttft_ms", firstTokenAt === undefined ? undefined : Math.round(firstTokenAt - startedAt)) +
      lines.number("bytes_in", trace.bytesIn) +
      lines.number("bytes_out", trace.bytesOut) +
      counted;
    lines.write(tokens.estimated ? `${fields},"estimated":true` : fields, "request");
  }
}

interface Settling {
  readonly tokens: TokenUse;
  readonly now: Millis;
  readonly endedAt: Millis;
}

function recordOf(trace: Trace, ending: Ending, { tokens, now, endedAt }: Settling): Omit<UsageRecord, "number"> {
  const { startedAt, firstTokenAt } = trace;
  return {
    opened: trace.opened,
    requestId: trace.requestId,
    keyId: trace.keyId ?? "",
    keyName: trace.key ?? "",
    model: trace.model ?? "",
    profile: trace.profile ?? "",
    replica: trace.replica ?? "",
    path: trace.path,
    stream: trace.isStream,
    code: ending.code,
    outcome: ending.outcome,
    detail: ending.detail ?? "",
    endedAt: millis(Math.round(endedAt)),
    duration: millis(Math.round(now - startedAt)),
    firstToken: firstTokenAt === undefined ? undefined : millis(Math.round(firstTokenAt - startedAt)),
    waited: millis(Math.round(trace.waited)),
    attempts: trace.attempts,
    tries: trace.tries,
    served: trace.handedOverAt !== undefined,
    tokens,
  };
}

const between = (from: Millis | undefined, to: Millis | undefined): number | undefined =>
  from === undefined || to === undefined ? undefined : (to - from) / 1000;

function perToken({ firstTokenAt, usage }: Trace, { completion }: TokenUse, now: Millis): number | undefined {
  if (firstTokenAt === undefined || usage === undefined || completion < 2) return undefined;
  return (now - firstTokenAt) / 1000 / (completion - 1);
}
