import type { Sending } from "./attempt.ts";
import type { ExchangeContext, ExchangeRequest } from "./context.ts";
import type { ResponseHead } from "./engine/response-head.ts";
import { answerHeaders, isEventStream } from "./relay-headers.ts";
import { Relay } from "./relay.ts";

interface Beginning {
  readonly head: ResponseHead;
  readonly sending: Sending;
  /** What every answer carries: names and values in turn. */
  readonly ownHeaders: readonly string[];
}

/** An engine's answer begins: how it goes on to the client is decided by its head. */
export function beginRelay(
  { clock }: Pick<ExchangeContext, "clock">,
  request: ExchangeRequest,
  { head, sending, ownHeaders }: Beginning,
): Relay {
  const { replica, ask } = sending;
  const hidesUsage = ask.body.rest?.addedUsage ?? sending.hidesUsage;
  const { status } = head;
  const isStream = status < 300 && isEventStream(head);
  const headers = answerHeaders(head, replica.route, { isStream, now: clock.now() });
  headers.push("x-request-id", request.requestId, ...ownHeaders);
  const rewrite = ask.rewrite({ status, isStream });
  return new Relay(request.res, { status, headers, isStream, hidesUsage, rewrite, asker: request }, clock);
}
