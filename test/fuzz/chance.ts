import { seededRandom } from "../chaos/chance.ts";

/** Everything that is left to chance in one case. The same seed makes the same case. */
export class Chance {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** 0 … below - 1. */
  below(below: number): number {
    return Math.floor(this.random() * below);
  }

  is(probability: number): boolean {
    return this.random() < probability;
  }

  /** Of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    const picked = list[this.below(list.length)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  bytes(length: number): Buffer {
    const made = Buffer.alloc(length);
    for (let at = 0; at < length; at++) made[at] = this.below(256);
    return made;
  }

  /** Mostly small, now and then up to `most`: where lengths matter, so do the rare ones. */
  length(most: number): number {
    return Math.floor(most * this.random() ** 4);
  }
}
