import { ofSharedLimits, type SharedLimitName, type SharedLimits } from "../../core/client-key.ts";
import type { Millis } from "../../core/ids.ts";

/** What is used of it in a minute counts for that minute, whoever used it. */
export const isMinute = (limit: SharedLimitName): boolean => limit !== "concurrency";

/** One sharer's part of one limit, as the ledger knows it. */
export interface Held {
  /** The last share that it was sent. */
  readonly sent: number;
  /** The highest share that it may still go by: those that it has not confirmed the end of included. */
  readonly ceiling: number;
  /** As it said last. */
  readonly used: number;
  readonly wanted: number;
  /** Of the message with `sent`. */
  readonly revision: number;
}

const NOTHING_HELD: Held = { sent: 0, ceiling: 0, used: 0, wanted: 0, revision: 0 };

/** What it may use at the most, and what nobody else may have. */
export const heldBy = ({ ceiling, used }: Held): number => Math.max(ceiling, used);

/** It goes by the message of this revision: higher shares from before are over. */
export const confirm = (held: Held, revision: number): Held =>
  revision >= held.revision && held.ceiling > held.sent ? { ...held, ceiling: held.sent } : held;

type Presence =
  /** Connected, and has not said yet what it has. */
  | { readonly kind: "joining" }
  | { readonly kind: "here" }
  /** Not connected; it may live. */
  | { readonly kind: "silent"; readonly since: Millis }
  | { readonly kind: "ended"; readonly at: Millis };

/** One of those who share, with all that it holds. */
export class Sharer {
  #presence: Presence = { kind: "joining" };
  /** It is known to have fallen to an equal part. */
  hasLapsed = false;
  /** Of the last message to it. */
  revision = 0;
  /** How many sharers there are, as it was told last. */
  sharersTold = 0;
  isWholeDue = false;
  isAnswerDue = false;
  /** Keys of which it has another share than it knows. */
  readonly due = new Set<string>();
  readonly #holdings = new Map<string, Map<SharedLimitName, Held>>();
  /** Keys with a ceiling above what was sent. */
  readonly #unconfirmed = new Set<string>();

  get presence(): Presence {
    return this.#presence;
  }

  set presence(presence: Presence) {
    this.#presence = presence;
    if (presence.kind !== "silent") this.hasLapsed = false;
  }

  held(keyId: string, limit: SharedLimitName): Held {
    return this.#holdings.get(keyId)?.get(limit) ?? NOTHING_HELD;
  }

  put(keyId: string, limit: SharedLimitName, held: Held): void {
    let of = this.#holdings.get(keyId);
    if (of === undefined) {
      of = new Map();
      this.#holdings.set(keyId, of);
    }
    of.set(limit, held);
  }

  /** The next message will hold this share. */
  send(keyId: string, limit: SharedLimitName, sent: number): void {
    const held = this.held(keyId, limit);
    const ceiling = Math.max(held.ceiling, sent);
    this.put(keyId, limit, { ...held, sent, ceiling, revision: this.revision + 1 });
    if (ceiling > sent) this.#unconfirmed.add(keyId);
    this.due.add(keyId);
  }

  /** It goes by the message of this revision. Answers the keys of which it holds less than before. */
  confirmed(revision: number): readonly string[] {
    const keys: string[] = [];
    for (const keyId of this.#unconfirmed) {
      const of = this.#holdings.get(keyId);
      if (of === undefined || [...of.values()].every((held) => revision >= held.revision)) {
        this.#unconfirmed.delete(keyId);
        for (const [limit, held] of of ?? []) of?.set(limit, confirm(held, revision));
        keys.push(keyId);
      }
    }
    return keys;
  }

  shares(keyId: string, limits: SharedLimits): SharedLimits {
    return ofSharedLimits((limit) => (limits[limit] === undefined ? undefined : this.held(keyId, limit).sent));
  }

  /** Everything that was due is in a message. */
  told(sharers: number): void {
    if (this.isWholeDue || this.due.size > 0) this.revision += 1;
    this.sharersTold = sharers;
    this.isWholeDue = false;
    this.isAnswerDue = false;
    this.due.clear();
  }

  drop(keyId: string): void {
    this.#holdings.delete(keyId);
    this.#unconfirmed.delete(keyId);
    this.due.delete(keyId);
  }

  clear(): void {
    this.#holdings.clear();
    this.#unconfirmed.clear();
    this.due.clear();
  }
}
