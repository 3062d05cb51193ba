import type { Millis } from "../../core/ids.ts";
import { Budget } from "./budget.ts";
import { Minute } from "./minute.ts";

/** One instant by both clocks: minutes are measured by the one that never steps, days and months by the calendar. */
export interface Moment {
  readonly wall: Millis;
  readonly monotonic: Millis;
}

/** What has been used under a key at one router. That router is its only writer. */
export class KeyUse {
  /** Requests that were admitted and have not ended. */
  inFlight = 0;
  readonly minute = new Minute();
  readonly budget = new Budget();

  /** A request is admitted. */
  begin(now: Moment): void {
    this.inFlight += 1;
    this.minute.add(now.monotonic, 1, 0);
  }

  /** A request has ended: its slot is free, and what it took counts now. */
  settle(tokens: number, now: Moment): void {
    this.inFlight -= 1;
    if (tokens === 0) return;
    this.minute.add(now.monotonic, 0, tokens);
    this.budget.add(tokens, now.wall);
  }
}
