import type { KeyGrant, SharedLimitName } from "../../core/client-key.ts";
import type { Allowance } from "../../routing/limits/decide.ts";
import { KeyUse } from "../../routing/limits/use.ts";

/** Requests of one key that wait for a share at the same time: more are refused at once. */
const MOST_WAITING = 64;

type Refused = Record<SharedLimitName, number>;
export const NONE_REFUSED: Readonly<Refused> = { requestsPerMinute: 0, tokensPerMinute: 0, concurrency: 0 };

/** The owner of a key, with what this router has seen of it. The object stays while its key does, so that counts stay right. */
export class Caller {
  #grant: KeyGrant;
  #models: ReadonlySet<string>;
  readonly use = new KeyUse();
  allowance: Allowance;
  /** Something of it has changed since its demand was told. */
  isActive = false;
  /** What was told last is that no slot of its share here is free. */
  isToldFull = false;
  /** Requests that were refused although other routers may have had room, since that was told. */
  refused: Refused = { ...NONE_REFUSED };
  /** Before this moment, by the monotonic clock, waiting for a share is in vain. */
  shortUntil = 0;
  readonly #waiting = new Set<() => void>();

  constructor(grant: KeyGrant, allowance: Allowance) {
    this.#grant = grant;
    this.#models = new Set(grant.models);
    this.allowance = allowance;
  }

  get grant(): KeyGrant {
    return this.#grant;
  }

  regrant(grant: KeyGrant, allowance: Allowance): void {
    this.#grant = grant;
    this.#models = new Set(grant.models);
    // With other limits it need not be in vain.
    this.shortUntil = 0;
    this.reallow(allowance);
  }

  /** Wakes those who wait for more. */
  reallow(allowance: Allowance): void {
    this.allowance = allowance;
    for (const wake of [...this.#waiting]) wake();
  }

  mayAsk(model: string): boolean {
    return this.#models.size === 0 || this.#models.has(model);
  }

  /** Calls back with each new share until it is cancelled. Undefined: too many wait. */
  waitForShare(wake: () => void): (() => void) | undefined {
    if (this.#waiting.size >= MOST_WAITING) return undefined;
    this.#waiting.add(wake);
    return () => {
      this.#waiting.delete(wake);
    };
  }
}
