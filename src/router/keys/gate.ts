import type { ClientHeaders } from "../client/client-headers.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Later } from "../refusals.ts";
import type { Caller } from "./caller.ts";
import type { KeyBook } from "./key-book.ts";
import { expiredKey, keysNotKnown, noKey, wrongKey } from "./refusals.ts";
import { bearerOf, headerKeyOf } from "./shown-key.ts";
import { KeyVisit, OPEN_VISIT, type Visit } from "./visit.ts";

/** Whether clients must show a key. */
export type RouterAuth = "keys" | "none";

/** Lets requests in by their keys, before anything of a body is read. */
export class Gate {
  readonly #auth: RouterAuth;
  readonly #book: KeyBook;
  readonly #clock: Clock;

  constructor(auth: RouterAuth, book: KeyBook, clock: Clock) {
    this.#auth = auth;
    this.#book = book;
    this.#clock = clock;
  }

  get asksForKeys(): boolean {
    return this.#auth === "keys";
  }

  /** Whether a request with a good key would be let in. */
  get isReady(): boolean {
    return this.#auth === "none" || this.#book.revision !== undefined;
  }

  /** Never throws, whatever the headers hold. */
  enter(headers: ClientHeaders): Result<Visit, Later> {
    if (this.#auth === "none") return ok(OPEN_VISIT);
    const bearer = bearerOf(headers);
    const inHeader = headerKeyOf(headers);
    const shown = bearer ?? inHeader;
    if (shown === undefined) return err(noKey());
    if (this.#book.revision === undefined) return err(keysNotKnown());
    // Some clients send a made-up key in one place and the real one in the other.
    const caller = this.#book.find(shown) ?? this.#book.find(inHeader ?? "");
    if (caller === undefined) return err(wrongKey(shown));
    return this.#isOver(caller) ? err(expiredKey(caller.grant)) : ok(new KeyVisit(caller, this.#book, this.#clock));
  }

  #isOver({ grant: { expiresAt } }: Caller): boolean {
    return expiresAt !== undefined && expiresAt <= this.#clock.now();
  }
}
