import { err, ok, type Result } from "../../core/result.ts";
import { pause } from "../clock.ts";
import { type HeaderValues, statusFailure } from "./answer.ts";
import { ask } from "./ask.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import type { Followed } from "./follow.ts";
import type { IdleWatch } from "./idle.ts";
import { readBody } from "./read-body.ts";
import { delayBefore, type FetchContext } from "./context.ts";

export interface TextRequest {
  readonly url: string;
  readonly method?: "GET" | "HEAD";
  /** Sent to the address's own origin only. */
  readonly headers?: Readonly<Record<string, string>>;
  /** same-origin: a redirect to another host is the answer and not followed. Default all. */
  readonly follow?: "all" | "same-origin";
  readonly signal?: AbortSignal;
}

export interface TextAnswer {
  readonly status: number;
  readonly headers: HeaderValues;
  readonly body: string;
  /** Where the answer came from, after redirects. */
  readonly url: string;
}

/** Listings and index pages; the largest known index page is under 10 MiB. */
const BODY_LIMIT = 32 * 1024 * 1024;
const NEVER = new AbortController().signal;

/** Any status is an answer, but "too many requests". Silence and transient statuses are tried again, bounded. */
export async function fetchText(
  context: FetchContext,
  { url, method, headers, follow, signal = NEVER }: TextRequest,
): Promise<Result<TextAnswer, FetchFailure>> {
  const asked = { url, ownHeaders: headers, follow, signal, ...(method === undefined ? {} : { method }) };
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await ask(context, asked, read);
    const isLast = attempt >= context.retry.tries || signal.aborted || !mayRetry(outcome);
    if (isLast) return outcome;
    await pause(context.clock, delayBefore(context, attempt), signal);
  }
}

function mayRetry(outcome: Result<TextAnswer, FetchFailure>): boolean {
  if (!outcome.ok) return outcome.error.kind === "network" || outcome.error.kind === "stalled";
  const { status, url } = outcome.value;
  return status >= 400 && statusFailure(status, new URL(url)).retry;
}

async function read({ answer, headers, url }: Followed, watch: IdleWatch): Promise<Result<TextAnswer, FetchFailure>> {
  const body = await readBody(answer, BODY_LIMIT + 1, watch);
  if (body.length > BODY_LIMIT) {
    return err({ kind: "http", message: `${shownUrl(url)} answered more than ${String(BODY_LIMIT)} bytes of text` });
  }
  return ok({ status: answer.statusCode, headers, body: body.toString("utf8"), url: url.href });
}
