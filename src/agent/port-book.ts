import { isPortFree, type PortRange } from "../platform/ports.ts";

/** Which ports of the range are this agent's engines', whether they listen already or not. */
export class PortBook {
  readonly #range: PortRange;
  readonly #isFree: typeof isPortFree;
  readonly #taken = new Set<number>();

  constructor(range: PortRange, isFree: typeof isPortFree = isPortFree) {
    this.#range = range;
    this.#isFree = isFree;
  }

  /** The first port of the range that is nobody's; undefined when there is none. It stays taken until released. */
  async take(host: string): Promise<number | undefined> {
    for (let port = this.#range.first; port <= this.#range.last; port++) {
      if (this.#taken.has(port)) continue;
      // Before the look and not after it: another take may come meanwhile.
      this.#taken.add(port);
      if (await this.#isFree(host, port)) return port;
      this.#taken.delete(port);
    }
    return undefined;
  }

  /** An engine that was found running has it. */
  keep(port: number): void {
    this.#taken.add(port);
  }

  release(port: number): void {
    this.#taken.delete(port);
  }
}
