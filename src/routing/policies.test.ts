import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hashText } from "./hash.ts";
import { ROUTING_POLICIES } from "./policies.ts";
import { loadLimit } from "./policies/prefix-affinity.ts";
import type { Candidate, PickContext } from "./policy.ts";
import { NO_PROMPT } from "./prompt.ts";

const candidate = (id: string, change: Partial<Candidate> = {}): Candidate => ({
  id,
  idHash: hashText(id),
  inFlight: 0,
  queuedTokens: 0,
  lastPicked: 0,
  ...change,
});

const context = (change: Partial<PickContext> = {}): PickContext => ({
  prompt: NO_PROMPT,
  holders: () => [],
  random: () => 0,
  ...change,
});

const candidates = fc
  .uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 8 })
  .chain((ids) =>
    fc.tuple(
      ...ids.map((id) =>
        fc
          .record({
            inFlight: fc.nat({ max: 50 }),
            queuedTokens: fc.nat({ max: 9_000 }),
            lastPicked: fc.nat({ max: 9 }),
          })
          .map((load) => candidate(id, load)),
      ),
    ),
  )
  .map(([first = candidate("a"), ...rest]) => [first, ...rest] as const);
const rolls = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const prompts = fc.record({ keys: fc.array(fc.nat()), conversation: fc.option(fc.nat(), { nil: undefined }) });

describe.each(Object.entries(ROUTING_POLICIES))("%s", (_name, definition) => {
  const policy = definition.build({});

  test("answers one of the candidates, whatever chance, the prompt and the index say", () => {
    fc.assert(
      fc.property(candidates, rolls, prompts, (list, roll, prompt) => {
        const holders = (): readonly string[] => [list[0].id, "gone"];
        expect(list).toContain(policy.pick(list, { prompt, holders, random: () => roll }));
      }),
    );
  });

  test("prefers an idle replica to a busy one", () => {
    const idle = candidate("idle", { lastPicked: 9 });
    expect(policy.pick([candidate("busy", { inFlight: 40, lastPicked: 1 }), idle], context())).toBe(idle);
  });

  test("refuses params that it does not know", () => {
    expect(() => definition.build({ wieght: 2 })).toThrow(/wieght/);
  });

  test("has a sentence for people, and so has each of its params", () => {
    expect(definition.doc).toMatch(/^[A-Z].*\.$/);
    for (const param of Object.values(definition.params.shape)) expect(param.description).toMatch(/^[A-Z].*\.$/);
  });
});

describe.each(["least-in-flight", "least-work", "prefix-affinity"] as const)("%s of equals", (name) => {
  const policy = ROUTING_POLICIES[name].build({});

  test("B115 they take turns: ten requests one after another go five and five", () => {
    const turns = new Map([
      ["a", 0],
      ["b", 0],
    ]);
    const picks = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((turn) => {
      const at = (id: string): Candidate => candidate(id, { lastPicked: turns.get(id) ?? 0 });
      const { id } = policy.pick([at("a"), at("b")], context());
      turns.set(id, turn);
      return id;
    });
    expect(picks.filter((id) => id === "a")).toHaveLength(5);
  });

  test.each([
    { roll: 0, want: "c" },
    { roll: 0.4, want: "b" },
    { roll: 0.9, want: "a" },
  ])("among replicas that were never picked chance decides: $roll", ({ roll, want }) => {
    const fresh = [candidate("a"), candidate("b"), candidate("c")] as const;
    expect(policy.pick(fresh, context({ random: () => roll })).id).toBe(want);
  });
});

describe("least-work", () => {
  test.each([
    { name: "a long prompt that is still unread counts more than a request", params: {}, want: "b" },
    { name: "how much more is a param", params: { tokensPerRequest: 10_000 }, want: "a" },
  ])("$name", ({ params, want }) => {
    const policy = ROUTING_POLICIES["least-work"].build(params);
    const list = [candidate("a", { inFlight: 1, queuedTokens: 8_000 }), candidate("b", { inFlight: 2 })] as const;
    expect(policy.pick(list, context()).id).toBe(want);
  });
});

describe("power-of-two", () => {
  const policy = ROUTING_POLICIES["power-of-two"].build({});

  test("draws two different ones, each as likely", () => {
    const list = [candidate("a"), candidate("b"), candidate("c"), candidate("busy", { inFlight: 9 })] as const;
    for (let step = 0; step < 400; step++) {
      let calls = 0;
      const random = (): number => (((step * 7 + calls++ * 13) % 20) + 0.5) / 20;
      expect(policy.pick(list, context({ random })).id).not.toBe("busy");
    }
  });
});

describe("prefix-affinity", () => {
  const policy = ROUTING_POLICIES["prefix-affinity"].build({});
  const known =
    (table: Readonly<Record<number, readonly string[]>>) =>
    (key: number): readonly string[] =>
      table[key] ?? [];
  const list = [candidate("a"), candidate("b"), candidate("c")] as const;

  test.each([
    { name: "the longest known beginning wins", holders: { 1: ["a"], 2: ["b"] }, loads: [0, 0, 0], want: "b" },
    {
      name: "a shorter one where the longest's holder is above the bound",
      holders: { 1: ["a"], 2: ["b"] },
      loads: [0, 3, 0],
      want: "a",
    },
    { name: "the less busy of two holders", holders: { 2: ["a", "c"] }, loads: [1, 1, 0], want: "c" },
    { name: "a holder that is gone is nobody", holders: { 1: ["c"], 2: ["gone"] }, loads: [0, 0, 0], want: "c" },
  ])("$name", ({ holders, loads, want }) => {
    const loaded = list.map((one, index) => ({ ...one, inFlight: loads[index] ?? 0 }));
    const [first = candidate("a"), ...rest] = loaded;
    const prompt = { keys: [1, 2], conversation: undefined };
    expect(policy.pick([first, ...rest], context({ prompt, holders: known(holders) })).id).toBe(want);
  });

  test("a conversation that nobody knows falls to the same replica whatever the order, the chance and the router", () => {
    fc.assert(
      fc.property(fc.nat(), rolls, fc.shuffledSubarray([...list], { minLength: 3 }), (conversation, roll, shuffled) => {
        const prompt = { keys: [], conversation };
        const [first = list[0], ...rest] = shuffled;
        const there = policy.pick([first, ...rest], context({ prompt, random: () => roll }));
        expect(there.id).toBe(policy.pick(list, context({ prompt })).id);
      }),
    );
  });

  test.each([3, 8, 20])("of %i replicas one that leaves moves only what it had, and that was its share", (count) => {
    const all = Array.from({ length: count }, (_, index) => candidate(`replica-${String(index)}`));
    const [leaving = candidate("x"), first = candidate("y"), ...others] = all;
    const keys = Array.from({ length: 4_000 }, (_, index) => hashText(`conversation ${String(index)}`));
    const moved = keys.filter((conversation) => {
      const prompt = { keys: [], conversation };
      const before = policy.pick([leaving, first, ...others], context({ prompt }));
      const after = policy.pick([first, ...others], context({ prompt }));
      if (before !== leaving) expect(after).toBe(before);
      return after !== before;
    });
    expect(moved.length / keys.length).toBeLessThan(1.25 / count);
    expect(moved.length / keys.length).toBeGreaterThan(0.75 / count);
  });

  test("never above the bound, whoever holds what", () => {
    fc.assert(
      fc.property(candidates, prompts, fc.double({ min: 1, max: 3, noNaN: true }), (loaded, prompt, loadFactor) => {
        const bounded = ROUTING_POLICIES["prefix-affinity"].build({ loadFactor });
        const holders = (): readonly string[] => loaded.map(({ id }) => id).slice(0, 2);
        const picked = bounded.pick(loaded, context({ prompt, holders }));
        expect(picked.inFlight + 1).toBeLessThanOrEqual(loadLimit(loaded, loadFactor));
      }),
    );
  });
});
