/** What is in a roster knows its place in it; -1 while it is in none. */
export interface Listed {
  place: number;
}

/**
 * What comes and goes with every request. A Set would do, but for how V8 grows one: under such a coming and going its table is
 * made anew every few dozen requests, each old table leads to the next one, and once one of them is old for the collector all
 * requests since then outlive two collections. That was a fifth of a loaded router's time.
 */
export class Roster<T extends Listed> {
  readonly #listed: T[] = [];

  add(one: T): void {
    one.place = this.#listed.length;
    this.#listed.push(one);
  }

  /** The last one takes its place. Nothing, for what is in no roster. */
  delete(one: T): void {
    const { place } = one;
    const last = this.#listed.at(-1);
    if (place === -1 || last === undefined) return;
    one.place = -1;
    this.#listed.pop();
    if (last === one) return;
    last.place = place;
    this.#listed[place] = last;
  }

  /** Those that are in it now, whatever comes or goes meanwhile. */
  all(): readonly T[] {
    return [...this.#listed];
  }
}
