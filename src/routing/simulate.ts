import { hashText } from "./hash.ts";
import type { RoutingPolicy } from "./policy.ts";
import { PrefixIndex } from "./prefix-index.ts";

/** Conversations over shared system prompts, as chats and agents have them. */
export interface Workload {
  readonly conversations: number;
  readonly turns: number;
  readonly systemPrompts: number;
  readonly systemTokens: number;
  readonly turnTokens: number;
  /** Requests that are under way at the same time, all replicas together. */
  readonly concurrency: number;
}

export interface Site {
  readonly replicas: number;
  /** Prompt beginnings that one engine's cache holds. */
  readonly cacheKeys: number;
  readonly policy: RoutingPolicy;
  readonly random: () => number;
}

export interface Outcome {
  /** Of all prompt tokens, those that an engine had in its cache. */
  readonly cachedShare: number;
  /** The most that one replica had in flight, in multiples of the mean at that moment. */
  readonly worstLoad: number;
  /** Requests by replica. */
  readonly requests: readonly number[];
}

class SimulatedReplica {
  readonly id: string;
  readonly idHash: number;
  inFlight = 0;
  queuedTokens = 0;
  lastPicked = 0;
  requests = 0;
  readonly #capacity: number;
  readonly #cache = new Set<number>();

  constructor(id: string, capacity: number) {
    this.id = id;
    this.idHash = hashText(id);
    this.#capacity = capacity;
  }

  /** Reads a prompt. Answers how many of its beginnings, from the shortest on, were in the cache. */
  read(keys: readonly number[]): number {
    const missing = keys.findIndex((key) => !this.#cache.has(key));
    for (const key of keys) {
      this.#cache.delete(key);
      this.#cache.add(key);
    }
    for (const oldest of this.#cache) {
      if (this.#cache.size <= this.#capacity) break;
      this.#cache.delete(oldest);
    }
    return missing === -1 ? keys.length : missing;
  }
}

/**
 * Plays a workload against replicas with caches: at each step the conversation drawn sends its next turn, and the request
 * that has been under way for longest ends. Decides nothing by itself: it compares policies, and measures no time.
 */
export function simulate(workload: Workload, { replicas: count, cacheKeys, policy, random }: Site): Outcome {
  const first = new SimulatedReplica("replica-0", cacheKeys);
  const others = Array.from(
    { length: count - 1 },
    (_, n) => new SimulatedReplica(`replica-${String(n + 1)}`, cacheKeys),
  );
  const replicas = [first, ...others] as const;
  const index = new PrefixIndex(100_000);
  const done = new Array<number>(workload.conversations).fill(0);
  const running: SimulatedReplica[] = [];
  const tokens = { all: 0, cached: 0 };
  let worstLoad = 0;
  for (let turn = 1; turn <= workload.conversations * workload.turns; turn++) {
    if (running.length >= workload.concurrency) end(running);
    const conversation = drawOpen(done, workload.turns, random);
    const keys = keysOf(workload, conversation, done[conversation] ?? 0);
    done[conversation] = (done[conversation] ?? 0) + 1;
    const prompt = { keys, conversation: hashText(`conversation ${String(conversation)}`) };
    const picked = policy.pick(replicas, { prompt, holders: (key) => index.holders(key), random });
    index.learn(keys, picked.id);
    const known = picked.read(keys);
    tokens.all += tokensIn(workload, keys.length);
    tokens.cached += tokensIn(workload, known);
    picked.inFlight += 1;
    picked.requests += 1;
    picked.lastPicked = turn;
    running.push(picked);
    if (running.length === workload.concurrency)
      worstLoad = Math.max(worstLoad, (picked.inFlight * count) / running.length);
  }
  return { cachedShare: tokens.cached / tokens.all, worstLoad, requests: replicas.map(({ requests }) => requests) };
}

function end(running: SimulatedReplica[]): void {
  const oldest = running.shift();
  if (oldest !== undefined) oldest.inFlight -= 1;
}

/** A conversation that has turns left; there is one as long as fewer turns were played than there are. */
function drawOpen(done: readonly number[], turns: number, random: () => number): number {
  const start = Math.floor(random() * done.length);
  for (let step = 0; step < done.length; step++) {
    const at = (start + step) % done.length;
    if ((done[at] ?? 0) < turns) return at;
  }
  return start;
}

/** Its system prompt, then one for each turn so far. */
function keysOf({ systemPrompts }: Workload, conversation: number, turn: number): readonly number[] {
  const own = Array.from({ length: turn + 1 }, (_, n) => hashText(`${String(conversation)}/${String(n)}`));
  return [hashText(`system ${String(conversation % systemPrompts)}`), ...own];
}

const tokensIn = ({ systemTokens, turnTokens }: Workload, keys: number): number =>
  keys === 0 ? 0 : systemTokens + (keys - 1) * turnTokens;
