import { messageOf } from "../../core/errors.ts";
import type { Rewrite } from "./ask.ts";

/** An engine's events as the client's, in bytes. */
export class EventsFilter {
  readonly #stream: (Rewrite & { readonly kind: "events" })["stream"];

  constructor({ stream }: Rewrite & { readonly kind: "events" }) {
    this.#stream = stream;
  }

  push(chunk: Buffer): Buffer | undefined {
    return this.#said(() => this.#stream.push(chunk));
  }

  finish(last: Buffer | undefined): Buffer | undefined {
    return this.#said(() => (last === undefined ? "" : this.#stream.push(last)) + this.#stream.finish());
  }

  /** A bug in a translation is to end this stream, not all that are under way. */
  #said(say: () => string): Buffer | undefined {
    const text = this.#guarded(say);
    return text === "" ? undefined : Buffer.from(text);
  }

  #guarded(say: () => string): string {
    try {
      return say();
    } catch (thrown) {
      return this.#stream.fail(`The stream could not be translated: ${messageOf(thrown)}.`, 500);
    }
  }

  fail(message: string, status: number): string {
    return this.#stream.fail(message, status);
  }
}
