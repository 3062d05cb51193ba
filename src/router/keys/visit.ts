import type { Clock } from "../../platform/clock.ts";
import { decideLimits } from "../../routing/limits/decide.ts";
import { rateLimitHeaders } from "../../routing/limits/headers.ts";
import { type Moment, settled } from "../../routing/limits/use.ts";
import type { Later } from "../refusals.ts";
import type { Caller } from "./caller.ts";
import { modelNotAllowed, overLimit } from "./refusals.ts";

/** One request under a key: what it may do, and the slot that it holds until its end. */
export interface Visit {
  /** The key's name, for the log; undefined: this router asks for no keys. */
  readonly key: string | undefined;
  mayAsk(model: string): boolean;
  /** Why the model may not be asked for; undefined: it may. */
  forbids(model: string): Later | undefined;
  /** Whether a limit would refuse the request now; takes nothing. */
  peek(): Later | undefined;
  /** Takes a slot, or says which limit refuses it. A visit enters once. */
  enter(): Later | undefined;
  /** Gives the slot back, if one was taken, and charges what the request took. Only the first call counts. */
  leave(tokens: number): void;
  /** For the answer: names and values in turn. */
  headers(): readonly string[];
}

/** Where no keys are asked for. */
export const OPEN_VISIT: Visit = {
  key: undefined,
  mayAsk: () => true,
  forbids: () => undefined,
  peek: () => undefined,
  enter: () => undefined,
  leave: () => undefined,
  headers: () => [],
};

export class KeyVisit implements Visit {
  readonly #caller: Caller;
  readonly #clock: Clock;
  #isInside = false;

  constructor(caller: Caller, clock: Clock) {
    this.#caller = caller;
    this.#clock = clock;
  }

  get key(): string {
    return this.#caller.grant.name;
  }

  mayAsk(model: string): boolean {
    return this.#caller.mayAsk(model);
  }

  forbids(model: string): Later | undefined {
    return this.#caller.mayAsk(model) ? undefined : modelNotAllowed(model);
  }

  peek(): Later | undefined {
    return this.#decide(false);
  }

  enter(): Later | undefined {
    return this.#decide(true);
  }

  #decide(enters: boolean): Later | undefined {
    const { use, grant } = this.#caller;
    const decision = decideLimits(use, grant.limits, this.#now());
    if (decision.kind === "refuse") return overLimit(grant, decision.limit, decision.wait);
    if (enters) {
      this.#caller.use = decision.use;
      this.#isInside = true;
    }
    return undefined;
  }

  leave(tokens: number): void {
    if (!this.#isInside) return;
    this.#isInside = false;
    this.#caller.use = settled(this.#caller.use, tokens, this.#now());
  }

  headers(): readonly string[] {
    return rateLimitHeaders(this.#caller.grant.limits, this.#caller.use, this.#now());
  }

  #now(): Moment {
    return { wall: this.#clock.now(), monotonic: this.#clock.monotonic() };
  }
}
