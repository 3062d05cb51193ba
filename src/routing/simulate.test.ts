import { expect, test } from "vitest";
import { ROUTING_POLICIES, type RoutingPolicyName } from "./policies.ts";
import { type Outcome, simulate, type Workload } from "./simulate.ts";

/** Park and Miller's generator: every run of the test plays the same games. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

const CHATS: Workload = {
  conversations: 60,
  turns: 8,
  systemPrompts: 4,
  systemTokens: 800,
  turnTokens: 300,
  concurrency: 12,
};

function play(name: RoutingPolicyName, replicas: number, workload: Workload, seed = 7): Outcome {
  const policy = ROUTING_POLICIES[name].build({});
  return simulate(workload, { replicas, cacheKeys: 2_000, policy, random: seeded(seed) });
}

test.each([1, 2, 3])(
  "60 conversations of 8 turns: affinity reaches nine tenths of what one replica would (seed %i)",
  (seed) => {
    const best = play("prefix-affinity", 1, CHATS, seed).cachedShare;
    expect(play("prefix-affinity", 3, CHATS, seed).cachedShare).toBeGreaterThan(0.9 * best);
  },
);

test.each(["least-in-flight", "least-work", "power-of-two"] as const)(
  "%s leaves much more to be read again",
  (name) => {
    const affinity = play("prefix-affinity", 6, CHATS).cachedShare;
    expect(play(name, 6, CHATS).cachedShare).toBeLessThan(affinity - 0.2);
  },
);

test.each([
  { name: "many conversations", workload: CHATS },
  { name: "one system prompt for all", workload: { ...CHATS, systemPrompts: 1 } },
  { name: "one conversation only", workload: { ...CHATS, conversations: 1, turns: 100 } },
  { name: "few at once", workload: { ...CHATS, concurrency: 3 } },
])("affinity's price is bounded: $name", ({ workload }) => {
  const replicas = 3;
  const { worstLoad, requests } = play("prefix-affinity", replicas, workload);
  // 1.25 times the mean and one more, of as many as there may be at once.
  expect(worstLoad).toBeLessThanOrEqual(1.25 + replicas / workload.concurrency);
  expect(requests.reduce((sum, count) => sum + count)).toBe(workload.conversations * workload.turns);
});

test("no replica is left out", () => {
  const { requests } = play("prefix-affinity", 3, CHATS);
  for (const count of requests) expect(count).toBeGreaterThan((CHATS.conversations * CHATS.turns) / 3 / 3);
});
