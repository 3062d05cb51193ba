import { type Millis, millis } from "../core/ids.ts";
import { type Health, mayTry } from "../routing/health.ts";
import { FairQueue } from "../routing/queue.ts";

/** A request that waits for a slot, or for the first replica to start. */
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

interface RoomLimits {
  /** Requests that may wait. */
  readonly queueLength: number;
  /** The longest that one waits while all replicas are full. */
  readonly queueWait: Millis;
  /** The longest that one waits for the first replica to start. */
  readonly coldWait: Millis;
}

/** What the table says of the profile. */
interface Standing {
  readonly replicas: readonly Server[];
  /** Without a replica requests are to wait for one. */
  readonly holds: boolean;
}

/** Those who wait for any replica of one profile. */
export class WaitingRoom {
  readonly #limits: RoomLimits;
  readonly #now: () => Millis;
  /** Told when somebody comes or leaves; `isCold`: there is no replica at all, and whoever starts one should know soon. */
  readonly #changed: (isCold: boolean) => void;
  readonly #queue: FairQueue<Waiter>;
  #standing: Standing = { replicas: [], holds: false };
  /** No replica will come for those who wait for the first: they should hear it. */
  #isHopeless = false;
  #isWaking = false;

  constructor(limits: RoomLimits, now: () => Millis, changed: (isCold: boolean) => void) {
    this.#limits = limits;
    this.#queue = new FairQueue({ length: limits.queueLength });
    this.#now = now;
    this.#changed = changed;
  }

  get size(): number {
    return this.#queue.size;
  }

  /** As the table in force has it. */
  update(standing: Standing): void {
    const gaveUp = this.#standing.holds || this.#isHopeless;
    this.#isHopeless = standing.replicas.length === 0 && !standing.holds && gaveUp;
    this.#standing = standing;
  }

  /** False: it is full. `key` is whose turn a turn counts as. */
  enter(waiter: Waiter, key: string): boolean {
    const { queueWait, coldWait } = this.#limits;
    const isCold = this.#standing.replicas.length === 0;
    const hasEntered = this.#queue.push(waiter, key, millis(this.#now() + (isCold ? coldWait : queueWait)));
    if (hasEntered) this.#changed(isCold);
    return hasEntered;
  }

  leave(waiter: Waiter): void {
    if (this.#queue.remove(waiter)) this.#changed(false);
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
    for (const waiter of this.#queue.expire(now)) {
      this.#changed(false);
      waiter.onWaitOver();
    }
    // Time alone brings back what was set aside.
    this.#giveTurns();
  }

  /** Each who waits gets one turn at most: one who cannot use what is free must not keep the others from it. */
  #giveTurns(): void {
    const now = this.#now();
    for (let left = this.#queue.size; left > 0 && this.#isWorthATurn(now); left--) this.#giveTurn(now);
  }

  #giveTurn(now: Millis): void {
    const waiter = this.#queue.take(now);
    if (waiter === undefined) return;
    this.#changed(false);
    waiter.onTurn();
  }

  /** One is free; or all have failed, and whoever waits for them should hear it now. */
  #isWorthATurn(now: Millis): boolean {
    const { replicas } = this.#standing;
    if (replicas.length === 0) return this.#isHopeless;
    let isAnyAble = false;
    for (const { health, inFlight, most } of replicas) {
      if (!mayTry(health, now)) continue;
      if (inFlight < most) return true;
      isAnyAble = true;
    }
    return !isAnyAble;
  }
}
