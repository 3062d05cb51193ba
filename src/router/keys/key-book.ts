import { hash } from "node:crypto";
import type { KeySet } from "../../core/client-key.ts";
import { Caller } from "./caller.ts";

/** Longer than any key of ours: no such text is worth hashing. */
const LONGEST_KEY = 256;

/** The keys in force, as the control plane told them last. While it is away they stay as they are. */
export class KeyBook {
  #callers: ReadonlyMap<string, Caller> = new Map();
  /** Undefined before the first word of the control plane. */
  revision: number | undefined;

  /** Takes a whole set. A key that is in both keeps its counts; one that is missing opens nothing from now on. */
  update({ revision, keys }: KeySet): void {
    const before = this.#callers;
    this.#callers = new Map(
      keys.map((grant) => {
        const caller = before.get(grant.sha256) ?? new Caller(grant);
        caller.regrant(grant);
        return [grant.sha256, caller];
      }),
    );
    this.revision = revision;
  }

  /**
   * Whose key this is. What is compared are hashes, all of one length: how long a look-up takes tells nothing of a key,
   * because nobody can choose what a text hashes to.
   */
  find(key: string): Caller | undefined {
    if (key === "" || key.length > LONGEST_KEY) return undefined;
    return this.#callers.get(hash("sha256", key, "hex"));
  }
}
