import { type Millis, millis } from "../core/ids.ts";

interface QueueLimits {
  /** Requests that may wait for one profile. */
  readonly length: number;
}

interface Place {
  readonly key: string;
  readonly until: Millis;
}

/** How many turns back the pace is measured. */
const PACE_TURNS = 16;

/**
 * Who waits for a free slot. Those with one key (a client's) are served in the order in which they came, and keys take
 * turns: whoever sends a thousand requests delays only himself. Nothing is in it twice, and each leaves exactly once: by
 * its turn, by its deadline, or by its own wish.
 */
export class FairQueue<T> {
  readonly #limits: QueueLimits;
  /** Keys in the order of their turns; none without someone who waits. */
  readonly #lines = new Map<string, Set<T>>();
  readonly #places = new Map<T, Place>();
  /** When the last turns were. */
  #turns: Millis[] = [];

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#places.size;
  }

  /** False: the queue is full. Whoever waits already keeps his place. `until`: the longest that it waits. */
  push(item: T, key: string, until: Millis): boolean {
    if (this.#places.has(item)) return true;
    if (this.size >= this.#limits.length) return false;
    this.#stand(item, { key, until });
    return true;
  }

  /** Takes out the next whose turn it is. */
  take(now: Millis): T | undefined {
    for (const [key, line] of this.#lines) {
      for (const item of line) {
        this.remove(item);
        // The key's next one waits until every other key has had a turn.
        if (this.#lines.delete(key)) this.#lines.set(key, line);
        this.#turns = [...this.#turns.slice(1 - PACE_TURNS), now];
        return item;
      }
    }
    return undefined;
  }

  /** Whether it was there. */
  remove(item: T): boolean {
    const place = this.#places.get(item);
    if (place === undefined) return false;
    this.#places.delete(item);
    const line = this.#lines.get(place.key);
    line?.delete(item);
    if (line?.size === 0) this.#lines.delete(place.key);
    return true;
  }

  /** Takes out those that have waited for too long, the first to come first. */
  expire(now: Millis): readonly T[] {
    const overdue = [...this.#places].filter(([, { until }]) => until <= now).map(([item]) => item);
    for (const item of overdue) this.remove(item);
    return overdue;
  }

  /** How long the last in line would wait at the pace of the last turns; undefined when there is none to measure. */
  expectedWait(now: Millis): Millis | undefined {
    const [first] = this.#turns;
    if (first === undefined) return undefined;
    return millis(((now - first) / this.#turns.length) * (this.size + 1));
  }

  #stand(item: T, place: Place): void {
    this.#places.set(item, place);
    const line = this.#lines.get(place.key);
    if (line === undefined) this.#lines.set(place.key, new Set([item]));
    else line.add(item);
  }
}
