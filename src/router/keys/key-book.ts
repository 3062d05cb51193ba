import { hash } from "node:crypto";
import type { KeySet } from "../../core/client-key.ts";
import { Caller } from "./caller.ts";
import { Division } from "./division.ts";

/** Keys that were shown lately, each with whose it is: so many are looked up without being hashed again. */
const MOST_RECENT = 4_096;
/** Longer than any key of ours: no such text is worth hashing. */
const LONGEST_KEY = 256;

/** The keys in force, as the control plane told them last. While it is away they stay as they are. */
export class KeyBook {
  readonly division: Division;
  #callers: ReadonlyMap<string, Caller> = new Map();
  #byId: ReadonlyMap<string, Caller> = new Map();
  /** Good keys alone, and only while the set that they are in is in force. */
  readonly #recent = new Map<string, Caller>();
  /** Undefined before the first word of the control plane. */
  revision: number | undefined;
  /** Told of a request under a key of which other routers have a share; `isShort`: it was refused for that. */
  onDemand: ((caller: Caller, isShort: boolean) => void) | undefined;

  constructor(division = new Division(undefined)) {
    this.division = division;
  }

  /** Takes a whole set. A key that is in both keeps its counts; one that is missing opens nothing from now on. */
  update({ revision, keys, shared = false }: KeySet): void {
    const before = this.#callers;
    this.#recent.clear();
    this.division.isShared = shared;
    this.#callers = new Map(
      keys.map((grant) => {
        const allowance = this.division.allowance(grant);
        const caller = before.get(grant.sha256) ?? new Caller(grant, allowance);
        caller.regrant(grant, allowance);
        return [grant.sha256, caller];
      }),
    );
    this.#byId = new Map([...this.#callers.values()].map((caller) => [caller.grant.id, caller]));
    this.revision = revision;
  }

  /** The division has changed, for all keys or some. */
  redivide(keyIds?: readonly string[]): void {
    const callers = keyIds === undefined ? this.callers() : keyIds.flatMap((id) => this.byId(id) ?? []);
    for (const caller of callers) caller.reallow(this.division.allowance(caller.grant));
  }

  callers(): Iterable<Caller> {
    return this.#callers.values();
  }

  byId(id: string): Caller | undefined {
    return this.#byId.get(id);
  }

  /**
   * Whose key this is. What is compared are hashes, all of one length: how long a look-up takes tells nothing of a key,
   * because nobody can choose what a text hashes to. Neither does one among recent keys, which is by a hash that is another in
   * each process.
   */
  find(key: string): Caller | undefined {
    if (key === "" || key.length > LONGEST_KEY) return undefined;
    return this.#recent.get(key) ?? this.#findByHash(key);
  }

  #findByHash(key: string): Caller | undefined {
    const caller = this.#callers.get(hash("sha256", key, "hex"));
    if (caller === undefined) return undefined;
    if (this.#recent.size >= MOST_RECENT) this.#recent.clear();
    this.#recent.set(key, caller);
    return caller;
  }
}
