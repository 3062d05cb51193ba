import { err, ok, type Result } from "../../core/result.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import { type HeaderValues, headerValues } from "./answer.ts";
import type { HostLimits } from "./limits.ts";
import type { Answer, Transport } from "./transport.ts";

const MAX_REDIRECTS = 10;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

export interface FollowRequest {
  readonly url: URL;
  readonly method: "GET" | "HEAD";
  /** Sent to the address's own origin and to no other. */
  readonly ownHeaders: Readonly<Record<string, string>>;
  /** Sent along the whole way, such as the range. */
  readonly headers: Readonly<Record<string, string>>;
  /** same-origin: a redirect to elsewhere is the answer. */
  readonly follow: "all" | "same-origin";
  readonly signal: AbortSignal;
}

export interface Followed {
  readonly answer: Answer;
  readonly headers: HeaderValues;
  /** Where the answer came from. */
  readonly url: URL;
}

interface Way {
  readonly transport: Transport;
  readonly limits: HostLimits;
}

/**
 * Follows redirects by hand, because a token that is meant for one host must not travel to the next. A host that asked
 * not to be called is not, wherever it stands on the way. Throws what the transport throws.
 */
export async function follow(way: Way, request: FollowRequest): Promise<Result<Followed, FetchFailure>> {
  let url = request.url;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const sent = await sendTo(url, way, request);
    if (!sent.ok) return sent;
    const { answer } = sent.value;
    const next = redirectTarget(answer, url);
    if (next === undefined || (request.follow === "same-origin" && next.origin !== request.url.origin)) return sent;
    await discardBody(answer);
    const refusal = whyNotFollow(request.url, next);
    if (refusal !== undefined) return err({ kind: "refused", message: refusal });
    url = next;
  }
  return err({
    kind: "http",
    message: `${shownUrl(request.url)} redirects more than ${String(MAX_REDIRECTS)} times`,
  });
}

async function sendTo(url: URL, way: Way, request: FollowRequest): Promise<Result<Followed, FetchFailure>> {
  const refusal = way.limits.refusal(url);
  if (refusal !== undefined) return err(refusal);
  const own = url.origin === request.url.origin ? request.ownHeaders : {};
  const { method, signal } = request;
  const answer = await way.transport.send({ url, method, headers: { ...own, ...request.headers }, signal });
  const headers = headerValues(answer.headers);
  const limited = way.limits.note(url, answer.statusCode, headers);
  if (limited === undefined) return ok({ answer, headers, url });
  await discardBody(answer);
  return err(limited);
}

function redirectTarget(answer: Answer, base: URL): URL | undefined {
  const location = answer.headers["location"];
  if (!REDIRECTS.includes(answer.statusCode) || typeof location !== "string") return undefined;
  return URL.parse(location, base) ?? undefined;
}

function whyNotFollow(from: URL, to: URL): string | undefined {
  if (to.protocol !== "https:" && to.protocol !== "http:") {
    return `${shownUrl(from)} redirects to ${to.protocol}, which llmgw does not follow`;
  }
  if (from.protocol === "https:" && to.protocol === "http:") {
    return `${shownUrl(from)} redirects from https to ${shownUrl(to)}, which is not encrypted`;
  }
  return undefined;
}

/** Reads a short rest of a body, so that its connection can be used again; a long one is cut off. */
async function discardBody(answer: Answer): Promise<void> {
  await answer.body.dump({ limit: 64 * 1024 }).catch(() => undefined);
}

/** Ends a body that nobody will read, and its connection. */
export function dropBody(answer: Answer): void {
  if (answer.body.readableEnded || answer.body.destroyed) return;
  // Without a listener the abort would be an uncaught error.
  answer.body.on("error", () => undefined).destroy();
}
