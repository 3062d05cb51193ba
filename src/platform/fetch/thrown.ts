import { messageOf } from "../../core/errors.ts";
import { formatDuration } from "../../core/format.ts";
import type { FetchContext } from "./context.ts";
import { DiskError } from "./disk.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import type { IdleWatch } from "./idle.ts";

/** What a thrown error of the transport means: the caller's abort, silence, the disk, or no connection. */
export function thrownFailure(
  error: unknown,
  at: { readonly context: FetchContext; readonly url: URL; readonly watch: IdleWatch; readonly outer: AbortSignal },
): FetchFailure {
  if (error instanceof DiskError) return error.failure;
  const shown = shownUrl(at.url);
  if (at.outer.aborted) return { kind: "aborted", message: `fetching ${shown} was stopped` };
  if (at.watch.expired()) {
    return { kind: "stalled", message: `${shown} sent nothing for ${formatDuration(at.context.idleTimeout)}` };
  }
  return { kind: "network", message: `${shown} cannot be reached: ${networkReason(error)}` };
}

/** The innermost sentence: undici and Node wrap what the system said. */
function networkReason(error: unknown): string {
  if (error instanceof AggregateError) {
    const [first] = error.errors as readonly unknown[];
    return first === undefined ? error.message : networkReason(first);
  }
  if (error instanceof Error && error.cause !== undefined) return networkReason(error.cause);
  return messageOf(error);
}
