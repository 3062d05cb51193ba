/** A side that does not read what it is sent is not there: more than this is never waiting in good health. */
const MOST_WAITING = 10_000;

/** Messages on their way out of a stream, handed to its writer one by one. */
export class Outbox<T> {
  readonly #waiting: { readonly key: string | undefined; readonly make: () => T }[] = [];
  #end: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  push(message: T): void {
    this.#add(undefined, () => message);
  }

  /** Only the newest message of a key is worth sending: one that still waits is replaced. */
  replace(key: string, message: T): void {
    this.replaceBy(key, () => message);
  }

  /** As `replace`, of a message that is made when its turn has come: it may depend on what went before it. */
  replaceBy(key: string, make: () => T): void {
    const index = this.#waiting.findIndex((entry) => entry.key === key);
    if (index >= 0) this.#waiting.splice(index, 1);
    this.#add(key, make);
  }

  /** Ends the stream once what waits is sent; at once with an error. Only the first end counts. */
  end(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    if (error !== undefined) this.#waiting.length = 0;
    this.#wake?.();
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, undefined> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        yield next.make();
        continue;
      }
      if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return undefined;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #add(key: string | undefined, make: () => T): void {
    if (this.#end !== undefined) return;
    if (this.#waiting.length >= MOST_WAITING) {
      this.end(new Error(`${String(MOST_WAITING)} messages wait and nobody reads them`));
      return;
    }
    this.#waiting.push({ key, make });
    this.#wake?.();
  }
}
