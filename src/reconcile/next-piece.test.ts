import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nodeId } from "../core/ids.ts";
import { nextPiece, type PiecePeer } from "./next-piece.ts";

const peer = (node: string, pieces: readonly number[], inFlight = 0): PiecePeer => ({
  node: nodeId(node),
  pieces: new Set(pieces),
  inFlight,
});
const want = { total: 4, taken: new Set<number>(), mostInFlight: 2, random: () => 0 };

describe("which piece is asked for next, and whom", () => {
  test.each([
    ["nobody has anything", [peer("a", [])], want, undefined],
    ["the rarest first", [peer("a", [0, 1]), peer("b", [0])], want, { node: "a", index: 1 }],
    ["from the least busy", [peer("a", [0], 1), peer("b", [0])], want, { node: "b", index: 0 }],
    ["nothing of a busy one", [peer("a", [0], 2)], want, undefined],
    ["nothing twice", [peer("a", [0, 1])], { ...want, taken: new Set([0]) }, { node: "a", index: 1 }],
    ["everything is there", [peer("a", [0, 1, 2, 3])], { ...want, taken: new Set([0, 1, 2, 3]) }, undefined],
    ["equals by chance", [peer("a", [0, 1])], { ...want, random: () => 0.99 }, { node: "a", index: 1 }],
  ])("%s", (_name, peers, wanted, expected) => {
    expect(nextPiece(peers, wanted)).toEqual(expected);
  });

  const peers = fc.array(
    fc.record({
      node: fc.constantFrom("a", "b", "c").map(nodeId),
      pieces: fc.uniqueArray(fc.integer({ min: 0, max: 9 })).map((all) => new Set(all)),
      inFlight: fc.integer({ min: 0, max: 3 }),
    }),
    { maxLength: 4 },
  );
  const taken = fc.uniqueArray(fc.integer({ min: 0, max: 9 })).map((all) => new Set(all));

  test("always a piece that is missing, of a peer that has it and has room; none only when there is none", () => {
    fc.assert(
      fc.property(peers, taken, fc.double({ min: 0, max: 0.999, noNaN: true }), (all, has, chance) => {
        const next = nextPiece(all, { total: 10, taken: has, mostInFlight: 2, random: () => chance });
        const usable = all.filter(({ inFlight }) => inFlight < 2);
        const open = usable.some(({ pieces }) => [...pieces].some((index) => !has.has(index)));
        expect(next !== undefined).toBe(open);
        if (next === undefined) return;
        expect(has.has(next.index)).toBe(false);
        expect(usable.some(({ node, pieces }) => node === next.node && pieces.has(next.index))).toBe(true);
      }),
    );
  });

  test("peers that each have everything bring the whole file, a piece each once", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 4 }), (total, count) => {
        const has = new Set<number>();
        const every = Array.from({ length: total }, (_, index) => index);
        const all = Array.from({ length: count }, (_, i) => peer(`n${String(i)}`, every));
        for (let step = 0; step < total; step += 1) {
          const next = nextPiece(all, { total, taken: has, mostInFlight: 1, random: () => 0.5 });
          if (next !== undefined) has.add(next.index);
        }
        expect(has.size).toBe(total);
      }),
    );
  });
});
