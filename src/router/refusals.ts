import type { ErrorCode } from "../core/errors.ts";
import { formatDuration } from "../core/format.ts";
import type { Millis } from "../core/ids.ts";
import type { ModelRoute } from "../core/route.ts";
import { isUpstreamId } from "../core/upstream.ts";
import { LONGEST_RETRY_AFTER_SECONDS, toRetryAfter } from "../routing/retry-after.ts";
import type { EngineFailure } from "./engine/connection.ts";
import type { Refusal } from "./error-body.ts";
import type { ModelField } from "./routing-fields.ts";

/** A model whose wait nobody can estimate: often enough to notice soon, seldom enough not to be a load. */
const UNKNOWN_WAIT_SECONDS = 5;

export const HEADERS_TOO_LARGE: Refusal = {
  code: "HEADERS_TOO_LARGE",
  message: "The request's headers are over this router's limit.",
};

export function noModel(field: ModelField): Refusal {
  const what = field.kind === "missing" ? "The body names no model." : "The body's model is not a name.";
  return { code: "BAD_REQUEST", message: `${what} Set "model" to one of the names in GET /v1/models.`, param: "model" };
}

/** What keeps things between requests; of Messages and Responses, everything below the request itself. */
const STATEFUL =
  /^\/v1\/(?:assistants|threads|files|uploads|batches|fine_tuning|vector_stores|containers|conversations|evals|videos|responses\/|chat\/completions\/|messages\/batches|skills|agents|sessions)/;

export function unknownUrl(path: string): Refusal {
  const shown = path.slice(0, 200);
  const why = STATEFUL.test(path) ? ": it would need something to be kept between requests, and nothing is" : "";
  return { code: "UNKNOWN_URL", message: `There is no ${shown} here${why}.` };
}

/** Worded as OpenAI does, because clients look for it; one message for what is not there and what may not be seen. */
export const unknownModel = (name: string): Refusal => ({
  code: "MODEL_NOT_FOUND",
  message: `The model \`${name}\` does not exist or you do not have access to it. GET /v1/models lists what is served.`,
  param: "model",
});

/** A refusal with what tells a client when to come again. */
export interface Later {
  readonly refusal: Refusal;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** Of which coming again is no matter. */
export const atOnce = (refusal: Refusal): Later => ({ refusal, headers: [] });

/** `waited`: how long the request was held. */
export function notReady({ name, waitingFor, waitSeconds }: ModelRoute, waited?: Millis): Later {
  const held = waited === undefined ? "" : ` The request has waited for ${formatDuration(waited)}.`;
  const reason = waitingFor === "" ? "no replica of it is ready" : waitingFor;
  const refusal: Refusal = {
    code: "MODEL_NOT_READY",
    message: `The model \`${name}\` is not ready: ${reason}.${held}`,
    param: "model",
  };
  const seconds = waitSeconds === 0 ? UNKNOWN_WAIT_SECONDS : waitSeconds;
  return { refusal, headers: laterHeaders(seconds * 1000, seconds <= LONGEST_RETRY_AFTER_SECONDS) };
}

export function allAside({ name, replicas }: ModelRoute, wait: Millis): Later {
  const only = replicas[0]?.upstream === undefined ? "Its only replica" : "Its upstream";
  const who = replicas.length === 1 ? only : `Each of its ${String(replicas.length)} replicas`;
  const message = `The model \`${name}\` cannot be reached: ${who.toLowerCase()} failed lately and is left alone for a moment.`;
  return { refusal: { code: "MODEL_NOT_READY", message, param: "model" }, headers: laterHeaders(wait, true) };
}

export function overloaded({ name, replicas }: ModelRoute, reason: string, wait: Millis | undefined): Later {
  const only = replicas[0]?.upstream === undefined ? "its replica is" : "its upstream is";
  const who = replicas.length === 1 ? only : `each of its ${String(replicas.length)} replicas is`;
  const message = `The model \`${name}\` has more requests than it can take: ${who} busy and ${reason}.`;
  const headers = laterHeaders(wait ?? UNKNOWN_WAIT_SECONDS * 1000, true);
  return { refusal: { code: "OVERLOADED", message, param: "model" }, headers };
}

/** `retry`: whether coming again after this wait can help. */
export function laterHeaders(waitMs: number, retry: boolean): readonly string[] {
  const seconds = toRetryAfter(waitMs as Millis);
  return ["retry-after", String(seconds), "retry-after-ms", String(seconds * 1000), "x-should-retry", String(retry)];
}

/** Why the client gets no answer from an engine, or no more of it. */
export function engineFailed(replica: string, failure: EngineFailure, code: ErrorCode): Refusal {
  const sentence = SENTENCES[failure.kind];
  if (!isUpstreamId(replica)) return { code, message: `${sentence} (replica ${replica}: ${failure.detail}).` };
  const elsewhere =
    failure.kind === "keyRefused" ? "The upstream does not accept the key that it is asked with" : sentence;
  return { code, message: `${elsewhere.replace(/^The engine/, "The upstream")} (${replica}: ${failure.detail}).` };
}

const SENTENCES: Readonly<Record<EngineFailure["kind"], string>> = {
  refused: "The engine cannot be reached",
  stale: "The engine closed the connection before it answered",
  reset: "The engine broke off before it answered",
  garbage: "The engine's answer is not usable",
  keyRefused: "The engine does not accept this router's key",
  busy: "The engine is too busy",
  unwilling: "The engine broke off in the middle of its answer, and another would not go on with it",
  firstByteTimeout: "The engine did not answer in time",
  idleTimeout: "The engine stopped in the middle of its answer",
  broke: "The engine broke off in the middle of its answer",
};
