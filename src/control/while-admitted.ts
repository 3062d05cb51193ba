import { ConnectError, type HandlerContext } from "@connectrpc/connect";
import { millis } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";

/** A revocation acts on streams that are open within so long. */
const LOOK_EVERY = millis(1000);

interface Guard<C> {
  /** Throws when whoever opened the stream would not be let in now. */
  readonly gate: (context: C) => void;
  readonly clock: Pick<Clock, "after">;
}

/**
 * A stream of answers for as long as its caller may have it: one whose certificate or token is revoked meanwhile is told so
 * and cut off. `open` makes the stream, which must end when the signal aborts.
 */
export async function* whileAdmitted<T, C extends Pick<HandlerContext, "signal">>(
  context: C,
  { gate, clock }: Guard<C>,
  open: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const ending = new AbortController();
  let refusal: ConnectError | undefined;
  let cancel = (): void => undefined;
  const look = (): void => {
    cancel = clock.after(LOOK_EVERY, () => {
      refusal = refusalOf(() => {
        gate(context);
      });
      if (refusal === undefined) look();
      else ending.abort(refusal);
    });
  };
  look();
  try {
    yield* open(AbortSignal.any([context.signal, ending.signal]));
  } catch (error) {
    throw refusal ?? error;
  } finally {
    cancel();
  }
  if (refusal !== undefined) throw refusal;
}

function refusalOf(ask: () => void): ConnectError | undefined {
  try {
    ask();
    return undefined;
  } catch (error) {
    return ConnectError.from(error);
  }
}
