/** Shared beginnings, such as a system prompt, are soon held by many replicas; a few are enough to choose from. */
const MOST_HOLDERS = 4;
const NOBODY: readonly string[] = [];

/**
 * Which replicas have lately worked on which beginnings of prompts. Never more than `capacity` keys: they are kept in two
 * generations, and when the younger is half of the capacity the older is forgotten, which costs less than an order by use
 * and still keeps the latest half.
 */
export class PrefixIndex {
  readonly #half: number;
  #young = new Map<number, readonly string[]>();
  #old = new Map<number, readonly string[]>();

  /** `capacity` in keys, 2 or more; one takes about 100 bytes. */
  constructor(capacity: number) {
    this.#half = Math.max(1, Math.floor(capacity / 2));
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** The ids of those that hold it, the latest first. */
  holders(key: number): readonly string[] {
    return this.#young.get(key) ?? this.#old.get(key) ?? NOBODY;
  }

  /** A replica was given a prompt with these beginnings. */
  learn(keys: readonly number[], replica: string): void {
    for (const key of keys) {
      const young = this.#young.get(key);
      if (young?.[0] !== replica) this.#put(key, withLatest(young ?? this.#old.get(key) ?? NOBODY, replica));
    }
  }

  #put(key: number, holders: readonly string[]): void {
    this.#old.delete(key);
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, holders);
  }
}

const withLatest = (holders: readonly string[], replica: string): readonly string[] =>
  holders.length === 0 ? [replica] : [replica, ...holders.filter((id) => id !== replica)].slice(0, MOST_HOLDERS);
