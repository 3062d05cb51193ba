import type { KeyGrant } from "../../core/client-key.ts";
import { type KeyUse, UNUSED } from "../../routing/limits/use.ts";

/** The owner of a key, with what this router has seen of it. The object stays while its key does, so that counts stay right. */
export class Caller {
  #grant: KeyGrant;
  #models: ReadonlySet<string>;
  use: KeyUse = UNUSED;

  constructor(grant: KeyGrant) {
    this.#grant = grant;
    this.#models = new Set(grant.models);
  }

  get grant(): KeyGrant {
    return this.#grant;
  }

  regrant(grant: KeyGrant): void {
    this.#grant = grant;
    this.#models = new Set(grant.models);
  }

  mayAsk(model: string): boolean {
    return this.#models.size === 0 || this.#models.has(model);
  }
}
