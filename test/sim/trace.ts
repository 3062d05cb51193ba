import { createHash } from "node:crypto";

/** Everything that happened, in order. Two runs of one seed have the same. */
export class Trace {
  readonly #lines: string[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(what: string): void {
    this.#lines.push(`${(this.#now() / 1000).toFixed(3)} ${what}`);
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  hash(): string {
    return createHash("sha256").update(this.#lines.join("\n")).digest("hex").slice(0, 16);
  }
}
