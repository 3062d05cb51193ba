import { ERRORS } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";
import type { ClientRequest, ClientResponse, HttpExchange } from "./client/http-exchange.ts";
import { errorBody, type ErrorShape, type Refusal } from "./error-body.ts";

/** An answer of the router's own. */
export interface Reply {
  readonly status: number;
  readonly body: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** Closing on a client that still sends can throw away the answer before it is read; so it may go on for a while. */
const LINGER: Millis = millis(2_000);

export function sendReply(clock: Clock, { req, body, res }: HttpExchange, reply: Reply): void {
  const isSending = !req.complete && hasBody(req);
  const headers = [
    "content-type",
    "application/json; charset=utf-8",
    "content-length",
    String(Buffer.byteLength(reply.body)),
  ];
  if (isSending) headers.push("connection", "close");
  res.writeHead(reply.status, [...headers, ...reply.headers]);
  // Without 100 Continue the rest of the body does not come.
  if (!isSending || (req.headers.expect !== undefined && !continued.has(res))) {
    res.end(reply.body);
    return;
  }
  res.write(reply.body);
  const cancel = clock.after(LINGER, () => res.end());
  body.on("end", () => {
    cancel();
    res.end();
  });
  body.once("close", cancel);
  body.resume();
}

/** Reads over what a client still sends of a request that has its answer, so that it gets to reading that; not for ever. */
export function drainUpload(
  { clock, limits }: { readonly clock: Clock; readonly limits: { readonly uploadIdle: Millis } },
  { req, body }: HttpExchange,
): void {
  if (req.complete) return;
  const cancel = clock.after(limits.uploadIdle, () => body.destroy());
  body.once("close", cancel);
  body.once("end", cancel);
}

const hasBody = ({ headers }: ClientRequest): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

const continued = new WeakSet<ClientResponse>();

/** Tells a client that waits for it to send its body (Expect: 100-continue). */
export function sendContinue(res: ClientResponse): void {
  continued.add(res);
  res.writeContinue();
}

/** A refusal as the path's clients read it, with its status. */
export function refusalReply(shape: ErrorShape, refusal: Refusal, requestId: string): Reply {
  return {
    status: ERRORS[refusal.code].http,
    body: errorBody(shape, refusal, requestId),
    headers: ["x-request-id", requestId],
  };
}

interface Refused extends HttpExchange {
  readonly shape: ErrorShape;
  readonly requestId: string;
}

/** Sends a refusal, with more headers than it has itself. */
export function sendRefusal(
  clock: Clock,
  refused: Refused,
  { refusal, headers }: { readonly refusal: Refusal; readonly headers: readonly string[] },
): void {
  const reply = refusalReply(refused.shape, refusal, refused.requestId);
  sendReply(clock, refused, { ...reply, headers: [...reply.headers, ...headers] });
}
