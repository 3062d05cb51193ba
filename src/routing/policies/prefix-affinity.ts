import { z } from "zod";
import { mix } from "../hash.ts";
import { lightest } from "../lightest.ts";
import { type Candidate, definePolicy, isNotEmpty, type PickContext } from "../policy.ts";

/**
 * An engine reads a prompt only from where its cache ends. So a request goes where the longest beginning of it was worked
 * on; a conversation that nobody knows goes where its key falls, which is the same replica in every router and after a
 * restart. Neither counts for a replica above the bound.
 */
export const prefixAffinity = definePolicy({
  doc: "Send to the replica that has the longest beginning of the prompt in its cache, and a conversation that is new to the router to the one that its key falls to, in every router the same; never to one with more requests in flight than the bound.",
  params: z.strictObject({
    loadFactor: z
      .number()
      .min(1)
      .max(10)
      .default(1.25)
      .describe("A replica may have this many times the mean of requests in flight, and one more."),
  }),
  create: ({ loadFactor }) => {
    const byId = new ById();
    return {
      readsPrompt: true,
      pick(candidates, context) {
        const bound = new Bound(candidates, loadFactor);
        return (
          knownHolder(byId.of(candidates), context, bound) ??
          byKey(candidates, context, bound) ??
          lightest(candidates, byInFlight, context.random)
        );
      },
    };
  },
});

/** Whether a replica may have one more, counted when it is first in doubt: there may be a thousand to count. */
class Bound {
  readonly #candidates: readonly Candidate[];
  readonly #loadFactor: number;
  #limit: number | undefined;

  constructor(candidates: readonly Candidate[], loadFactor: number) {
    this.#candidates = candidates;
    this.#loadFactor = loadFactor;
  }

  allows({ inFlight }: Candidate): boolean {
    // Every limit is above 1.
    return inFlight === 0 || inFlight + 1 <= (this.#limit ??= loadLimit(this.#candidates, this.#loadFactor));
  }
}

/** Finds a candidate by its id. */
type Find<T> = (id: string) => T | undefined;

/**
 * Candidates by their ids. A router asks with the same list until a replica comes or goes: from the second time on it has
 * an index. Lists of what is left of one, after a failure, are asked with once.
 */
class ById {
  readonly #indexes = new WeakMap<readonly Candidate[], Map<string, Candidate> | "seen">();

  of<T extends Candidate>(candidates: readonly T[]): Find<T> {
    const index = this.#indexOf(candidates);
    return index === undefined
      ? (id) => candidates.find((one) => one.id === id)
      : (id) => index.get(id) as T | undefined;
  }

  #indexOf(candidates: readonly Candidate[]): Map<string, Candidate> | undefined {
    const known = this.#indexes.get(candidates);
    if (known !== undefined && known !== "seen") return known;
    const index = known === undefined ? undefined : new Map(candidates.map((one) => [one.id, one]));
    this.#indexes.set(candidates, index ?? "seen");
    return index;
  }
}

/** What a replica may have in flight, the request at hand included. The least loaded one is always below it. */
export function loadLimit(candidates: readonly Candidate[], loadFactor: number): number {
  let total = 1;
  for (const { inFlight } of candidates) total += inFlight;
  return (loadFactor * total) / candidates.length + 1;
}

function knownHolder<T extends Candidate>(
  find: Find<T>,
  { prompt, holders, random }: PickContext,
  bound: Bound,
): T | undefined {
  for (let index = prompt.keys.length - 1; index >= 0; index--) {
    const ids = holders(prompt.keys[index] ?? 0);
    if (ids.length === 0) continue;
    const able: T[] = [];
    for (const id of ids) {
      const holder = find(id);
      if (holder !== undefined && bound.allows(holder)) able.push(holder);
    }
    if (isNotEmpty(able)) return able.length === 1 ? able[0] : lightest(able, byInFlight, random);
  }
  return undefined;
}

const byInFlight = ({ inFlight }: Candidate): number => inFlight;

/** Rendezvous hashing: each replica has a score for the key and the best one below the bound wins. A replica that leaves moves only what it had. */
function byKey<T extends Candidate>(
  candidates: readonly [T, ...T[]],
  { prompt: { conversation } }: PickContext,
  bound: Bound,
): T | undefined {
  if (conversation === undefined) return undefined;
  let best: T | undefined;
  let bestScore = -1;
  for (const candidate of candidates) {
    if (!bound.allows(candidate)) continue;
    const score = mix(conversation, candidate.idHash);
    if (score > bestScore) {
      best = candidate;
      bestScore = score;
    }
  }
  return best;
}
