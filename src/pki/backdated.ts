import { millis } from "../core/ids.ts";

/** Clocks of a fleet differ: what was issued just now must be valid everywhere. */
export const BACKDATED = millis(5 * 60_000);
