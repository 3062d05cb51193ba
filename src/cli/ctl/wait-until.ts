import { LlmgwError } from "../../core/errors.ts";
import { formatDuration } from "../../core/format.ts";
import { millis } from "../../core/ids.ts";
import { pause, systemClock } from "../../platform/clock.ts";
import type { Call } from "../command.ts";
import { timeoutOf } from "./wait-ready.ts";

const LOOK_EVERY = millis(500);

/**
 * Looks until the answer is undefined: until then it says in words what is still missing. Fails after --timeout; `undone`
 * begins that sentence.
 */
export async function waitUntilDone(
  call: Call,
  look: () => Promise<string | undefined>,
  undone = "Not done",
): Promise<void> {
  const timeout = timeoutOf(call);
  const deadline = systemClock.monotonic() + timeout;
  for (;;) {
    const missing = await look();
    if (missing === undefined) return;
    if (systemClock.monotonic() >= deadline) {
      throw new LlmgwError("WAIT_TIMEOUT", `${undone} within ${formatDuration(timeout)}: ${missing}.`);
    }
    await pause(systemClock, LOOK_EVERY);
  }
}
