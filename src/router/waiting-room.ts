import type { Millis } from "../core/ids.ts";
import { type Health, mayTry } from "../routing/health.ts";
import { FairQueue, type QueueLimits } from "../routing/queue.ts";

/** A request that waits for a slot. */
export interface Waiter {
  /** A slot is free; whoever cannot use it comes back. */
  onTurn(): void;
  onWaitOver(): void;
}

interface Server {
  readonly health: Health;
  readonly inFlight: number;
  readonly most: number;
}

/** Those who wait for any replica of one profile. */
export class WaitingRoom {
  /** The profile's replicas, as listed now. */
  replicas: readonly Server[] = [];
  readonly #now: () => Millis;
  readonly #queue: FairQueue<Waiter>;
  #isWaking = false;

  constructor(limits: QueueLimits, now: () => Millis) {
    this.#queue = new FairQueue(limits);
    this.#now = now;
  }

  get size(): number {
    return this.#queue.size;
  }

  /** False: it is full. `key` is whose turn a turn counts as. */
  enter(waiter: Waiter, key: string): boolean {
    return this.#queue.push(waiter, key, this.#now());
  }

  leave(waiter: Waiter): void {
    this.#queue.remove(waiter);
  }

  /** How long one who comes now would wait; undefined when nothing is known of it. */
  expectedWait(): Millis | undefined {
    return this.#queue.expectedWait(this.#now());
  }

  /**
   * Something became free or may have. Turns are given when the event at hand has been handled whole, so that a request
   * that tries its replica once more is not overtaken by one that waits for it.
   */
  wake(): void {
    if (this.#isWaking || this.#queue.size === 0) return;
    this.#isWaking = true;
    queueMicrotask(() => {
      this.#isWaking = false;
      this.#giveTurns();
    });
  }

  onTick(now: Millis): void {
    if (this.#queue.size === 0) return;
    for (const waiter of this.#queue.expire(now)) waiter.onWaitOver();
    // Time alone brings back what was set aside.
    this.#giveTurns();
  }

  /** Each who waits gets one turn at most: one who cannot use what is free must not keep the others from it. */
  #giveTurns(): void {
    const now = this.#now();
    for (let left = this.#queue.size; left > 0 && this.#isWorthATurn(now); left--) this.#queue.take(now)?.onTurn();
  }

  /** One is free; or all have failed, and whoever waits for them should hear it now. */
  #isWorthATurn(now: Millis): boolean {
    let isAnyAble = this.replicas.length === 0;
    for (const { health, inFlight, most } of this.replicas) {
      if (!mayTry(health, now)) continue;
      if (inFlight < most) return true;
      isAnyAble = true;
    }
    return !isAnyAble;
  }
}
