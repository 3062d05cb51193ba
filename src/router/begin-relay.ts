import type { Millis } from "../core/ids.ts";
import type { ExchangeContext, ExchangeRequest } from "./context.ts";
import type { ResponseHead } from "./engine/response-head.ts";
import type { Waiting } from "./exchange-state.ts";
import { answerHeaders, isEventStream } from "./relay-headers.ts";
import { Relay } from "./relay.ts";

interface Beginning {
  readonly state: Waiting;
  readonly hidesUsage: boolean;
  /** What every answer carries: names and values in turn. */
  readonly ownHeaders: readonly string[];
}

/** An engine's answer begins: how it goes on to the client is decided by its head. */
export function beginRelay(
  { clock }: Pick<ExchangeContext, "clock">,
  request: ExchangeRequest,
  { head, beginning, now }: { readonly head: ResponseHead; readonly beginning: Beginning; readonly now: Millis },
): Relay {
  const { state, hidesUsage, ownHeaders } = beginning;
  const { status } = head;
  const isStream = status < 300 && isEventStream(head);
  const headers = answerHeaders(head, state.replica.route, { isStream, now: clock.now() });
  headers.push("x-request-id", request.requestId, ...ownHeaders);
  const rewrite = state.ask.rewrite({ status, isStream });
  return new Relay(request.res, { status, headers, isStream, hidesUsage, rewrite, asker: request }, now);
}
