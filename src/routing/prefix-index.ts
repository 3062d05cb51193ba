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
  #young = new Map<number, string[]>();
  #old = new Map<number, string[]>();

  /** `capacity` in keys, 2 or more; one takes about 100 bytes. */
  constructor(capacity: number) {
    this.#half = Math.max(1, Math.floor(capacity / 2));
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** The ids of those that hold it, the latest first. What is learned later may change the list. */
  holders(key: number): readonly string[] {
    return this.#young.get(key) ?? this.#old.get(key) ?? NOBODY;
  }

  /** A replica was given a prompt with these beginnings. */
  learn(keys: readonly number[], replica: string): void {
    for (const key of keys) {
      const young = this.#young.get(key);
      if (young !== undefined) toFront(young, replica);
      else this.#put(key, toFront(this.#old.get(key) ?? [], replica));
    }
  }

  #put(key: number, holders: string[]): void {
    this.#old.delete(key);
    if (this.#young.size >= this.#half) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, holders);
  }
}

/** In place: each request learns several, nearly always of a replica that is there. */
function toFront(holders: string[], replica: string): string[] {
  if (holders[0] === replica) return holders;
  const at = holders.indexOf(replica);
  const from = at === -1 ? Math.min(holders.length, MOST_HOLDERS - 1) : at;
  for (let to = from; to > 0; to--) holders[to] = holders[to - 1] ?? replica;
  holders[0] = replica;
  return holders;
}
