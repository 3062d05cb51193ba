import { LlmgwError } from "../../core/errors.ts";
import { formatDuration } from "../../core/format.ts";
import { type Millis, millis } from "../../core/ids.ts";
import { systemClock } from "../../platform/clock.ts";
import type { AdminClient } from "../../run/client.ts";
import { followProfile } from "../../run/follow-profile.ts";
import type { ProfileLook } from "../../run/profile-look.ts";
import type { Call } from "../command.ts";
import { isTerminal } from "../io.ts";
import { liveView, silentView } from "../live.ts";
import { failureText, replicaLine } from "../render/replica-line.ts";
import { isDocument, outputOf } from "./output.ts";

/** Large weights take their time; `start_timeout` of a profile is of the same size. */
const USUAL_TIMEOUT = millis(30 * 60_000);

export const timeoutOf = ({ flags }: Call): Millis => flags.duration("timeout") ?? USUAL_TIMEOUT;

/** Resolves when the profile has all its replicas ready; what is under way is shown on stderr. */
export async function waitUntilReady(call: Call, client: AdminClient, name: string): Promise<void> {
  // Elsewhere than on a terminal nobody watches, and what went wrong is told at the end.
  const isWatched = !isDocument(outputOf(call)) && isTerminal(call.io.stderr);
  const view = isWatched ? liveView(call.io) : silentView;
  const timeout = timeoutOf(call);
  const deadline = new AbortController();
  const cancel = systemClock.after(timeout, () => {
    deadline.abort();
  });
  let last: ProfileLook | undefined;
  try {
    for await (const look of followProfile(client, name, { clock: systemClock, signal: deadline.signal })) {
      last = look;
      if (look.kind === "ready") return;
      if (look.kind === "gone") throw new LlmgwError("NOT_FOUND", `The profile "${name}" has been deleted.`);
      view.show(look.replicas.filter((replica) => replica.state !== "ready").map(replicaLine));
      if (look.kind === "failed") throw new LlmgwError("FAILED", `${name}: ${failureText(look.failed)}`);
    }
  } catch (error) {
    if (!deadline.signal.aborted) throw error;
  } finally {
    cancel();
    view.clear();
  }
  throw new LlmgwError("WAIT_TIMEOUT", `${name} was not ready within ${formatDuration(timeout)}: ${lastSeen(last)}`);
}

function lastSeen(look: ProfileLook | undefined): string {
  if (look?.kind !== "waiting") return "nothing was heard of it.";
  const waiting = look.replicas.filter((replica) => replica.state !== "ready");
  const reasons = waiting.map((replica) => `${replica.id} is ${replica.state} (${replica.reason})`);
  return `${String(look.ready)} of ${String(look.wanted)} replicas are ready${reasons.length === 0 ? "" : `; ${reasons.join("; ")}`}.`;
}
