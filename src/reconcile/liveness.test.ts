import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis, nodeId } from "../core/ids.ts";
import type { NodeLiveness } from "../core/node.ts";
import { assessLiveness, hearingSince, type NodeContact } from "./liveness.ts";

const policy = { unreachableAfter: millis(15_000), lostAfter: millis(300_000), brake: 0.5 };

const contact = (id: string, silentSeconds: number, more: Partial<NodeContact> = {}): NodeContact => ({
  id: nodeId(id),
  before: "connected",
  hasStream: true,
  left: false,
  lastHeard: millis(1_000_000 - silentSeconds * 1000),
  ...more,
});

const assess = (contacts: readonly NodeContact[], awakeSince = 0) =>
  assessLiveness(contacts, { now: millis(1_000_000), awakeSince: millis(awakeSince), policy });

const of = (verdict: ReturnType<typeof assess>): Record<string, NodeLiveness> => Object.fromEntries(verdict.liveness);

/** Enough company that the brake has no say. */
const company = [contact("x", 1), contact("y", 1)];

describe("liveness of one node among others", () => {
  test.each<{ name: string; node: NodeContact; want: NodeLiveness }>([
    { name: "heard a moment ago", node: contact("a", 1), want: "connected" },
    { name: "its stream has just broken", node: contact("a", 3, { hasStream: false }), want: "connected" },
    { name: "it said goodbye", node: contact("a", 3, { hasStream: false, left: true }), want: "unreachable" },
    { name: "its stream is open, and silent", node: contact("a", 15), want: "unreachable" },
    { name: "its stream is gone for long", node: contact("a", 20, { hasStream: false }), want: "unreachable" },
    {
      name: "unreachable does not heal without a stream",
      node: contact("a", 3, { hasStream: false, before: "unreachable" }),
      want: "unreachable",
    },
    {
      name: "B48 unreachable heals with the first word",
      node: contact("a", 0, { before: "unreachable" }),
      want: "connected",
    },
    { name: "B137 silent for the whole limit", node: contact("a", 300, { before: "unreachable" }), want: "lost" },
    { name: "lost stays lost", node: contact("a", 900, { before: "lost", hasStream: false }), want: "lost" },
    { name: "lost comes back", node: contact("a", 0, { before: "lost" }), want: "connected" },
  ])("$name: $want", ({ node, want }) => {
    expect(of(assess([node, ...company]))["a"]).toBe(want);
  });

  test("B138 a server that has just started or woken does not count the silence before", () => {
    const silent = contact("a", 900, { hasStream: false, lastHeard: undefined });
    expect(of(assess([silent, ...company], 990_000))["a"]).toBe("connected");
    expect(of(assess([contact("a", 45), contact("b", 45)], 990_000))).toEqual({ a: "connected", b: "connected" });
  });

  test.each([
    { name: "a turn in time", gap: 1_500, want: 5_000 },
    { name: "B138 stopped for 45 s", gap: 45_000, want: 100_000 },
  ])("hearing since: $name", ({ gap, want }) => {
    const before = { awakeSince: millis(5_000), lastTurn: millis(100_000 - gap) };
    expect(hearingSince(before, millis(100_000), millis(1_000))).toBe(want);
  });
});

describe("the brake", () => {
  test("more than half silent at once: none is lost, and it is said", () => {
    const verdict = assess([contact("a", 400), contact("b", 400), contact("c", 1)]);
    expect(of(verdict)).toEqual({ a: "unreachable", b: "unreachable", c: "connected" });
    expect(verdict).toMatchObject({ braked: ["a", "b"], silent: 2, watched: 3 });
  });

  test("half of them is not more than half", () => {
    expect(of(assess([contact("a", 400), contact("c", 1)]))["a"]).toBe("lost");
  });

  test("nodes that were given up long ago do not count", () => {
    const gone = contact("old", 90_000, { before: "lost", hasStream: false });
    expect(assess([gone, contact("a", 400), contact("b", 1)])).toMatchObject({ silent: 1, watched: 2 });
  });
});

test("whatever is heard: nobody is lost before the limit, nor when too many are silent", () => {
  const anyContact = fc.record({
    id: fc.nat({ max: 9 }).map((n) => nodeId(`n${String(n)}`)),
    before: fc.constantFrom<NodeLiveness>("connected", "unreachable", "lost"),
    hasStream: fc.boolean(),
    left: fc.boolean(),
    lastHeard: fc.option(fc.nat({ max: 1_000_000 }).map(millis), { nil: undefined }),
  });
  const contacts = fc.uniqueArray(anyContact, { selector: ({ id }) => id });
  fc.assert(
    fc.property(contacts, fc.nat({ max: 1_000_000 }), (nodes, awakeSince) => {
      const { liveness, silent, watched } = assess(nodes, awakeSince);
      const newlyLost = nodes.filter(({ id, before }) => before !== "lost" && liveness.get(id) === "lost");
      for (const { lastHeard } of newlyLost) {
        expect(1_000_000 - Math.max(lastHeard ?? 0, awakeSince)).toBeGreaterThanOrEqual(policy.lostAfter);
      }
      if (newlyLost.length > 0) expect(silent).toBeLessThanOrEqual(policy.brake * watched);
    }),
  );
});
