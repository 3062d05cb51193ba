import { messageOf } from "../../core/errors.ts";
import type { EngineAnswer, Rewrite, Rewritten } from "./ask.ts";
import { type Asker, unusable } from "./errors.ts";

/** A chat answer with logprobs of everything can be some MiB; nothing that is turned into something else is longer. */
const LONGEST_ANSWER = 64 * 1024 * 1024;

/** Holds an answer back until it is whole and can be turned into the client's. */
export class Collector {
  readonly #status: number;
  readonly #asker: Asker;
  readonly #read: (answer: EngineAnswer) => Rewritten;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(status: number, asker: Asker, rewrite: Rewrite & { readonly kind: "whole" }) {
    this.#status = status;
    this.#asker = asker;
    this.#read = (answer) => rewrite.read(answer);
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= LONGEST_ANSWER) this.#chunks.push(chunk);
    else this.#chunks = [];
  }

  finish(): { readonly original: Buffer; readonly rewritten: Rewritten } {
    const original = Buffer.concat(this.#chunks);
    return { original, rewritten: this.#guarded({ status: this.#status, body: original.toString("utf8") }) };
  }

  /** A bug in a translation is to end this request, not all that are under way. */
  #guarded(answer: EngineAnswer): Rewritten {
    try {
      return this.#read(answer);
    } catch (thrown) {
      return unusable(this.#asker, messageOf(thrown));
    }
  }
}
