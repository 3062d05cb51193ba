import type { Later } from "../refusals.ts";
import type { Visit } from "./visit.ts";

interface Entry {
  entered(): void;
  refused(over: Later): void;
}

/**
 * Takes a slot of the key's. One that another router may let go of is waited for, for a moment; what is answered then
 * cancels the wait. Undefined: it is decided, and whoever asked has been told.
 */
export function enter(visit: Visit, entry: Entry): (() => void) | undefined {
  const over = visit.enter();
  if (over === undefined) entry.entered();
  else return orWait(visit, over, entry);
  return undefined;
}

function orWait(visit: Visit, refused: Later, entry: Entry): (() => void) | undefined {
  let over = refused;
  const again = (): void => {
    cancel?.();
    const still = visit.enter();
    if (still === undefined) {
      entry.entered();
      return;
    }
    over = still;
    cancel = visit.waitForShare(again);
    if (cancel === undefined) entry.refused(over);
  };
  let cancel = visit.waitForShare(again);
  if (cancel === undefined) {
    entry.refused(over);
    return undefined;
  }
  return () => {
    cancel?.();
  };
}
