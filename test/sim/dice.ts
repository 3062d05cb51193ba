import { seededRandom } from "../chaos/chance.ts";

/** Everything that is left to chance, from one seed. */
export class Dice {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** From `least` up to, but not, `most`. */
  between(least: number, most: number): number {
    return least + this.random() * (most - least);
  }

  whole(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  /** Undefined: there is nothing to choose from. */
  pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  shuffled<T>(items: readonly T[]): readonly T[] {
    return items
      .map((item) => ({ item, place: this.random() }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ item }) => item);
  }

  /** By their weights. */
  draw<T extends { readonly weight: number }>(items: readonly T[]): T | undefined {
    let left = this.random() * items.reduce((sum, { weight }) => sum + weight, 0);
    return items.find(({ weight }) => (left -= weight) < 0);
  }
}
