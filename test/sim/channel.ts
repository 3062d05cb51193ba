/** Messages one way, in order, for one reader. */
export class Channel<T> implements AsyncIterable<T> {
  #waiting: T[] = [];
  #end: { readonly error: Error | undefined } | undefined;
  #wake: () => void = () => undefined;

  /** Whether nothing more is taken. */
  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  push(message: T): void {
    if (this.#end !== undefined) return;
    this.#waiting.push(message);
    this.#wake();
  }

  /** With an error what still waits is lost. Only the first end counts. */
  close(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    if (error !== undefined) this.#waiting = [];
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const [message] = this.#waiting.splice(0, 1);
      if (message !== undefined) yield message;
      else if (this.#end?.error !== undefined) throw this.#end.error;
      else if (this.#end !== undefined) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
