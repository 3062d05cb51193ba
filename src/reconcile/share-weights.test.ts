import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis, nodeId, type NodeId } from "../core/ids.ts";
import type { SharedFile, SharedTransfer } from "../core/sharing.ts";
import { type Leads, type SharingMember, shareWeights } from "./share-weights.ts";

const KEY = "hf--acme--m--c0ffee/model.gguf";
const file: SharedFile = { key: KEY, bytes: 100, sha256: "aa" };
const POLICY = { slowAfter: millis(60_000), goneAfter: millis(20_000) };

const transfer = (rest: Partial<SharedTransfer> = {}): SharedTransfer => ({
  file,
  source: "hf:acme/m",
  doing: "waiting",
  done: 0,
  round: 1,
  wrong: [],
  from: [],
  unreachable: [],
  ...rest,
});

interface Spec {
  readonly site?: string;
  readonly serves?: boolean;
  readonly asks?: Partial<SharedTransfer> | undefined;
  readonly holds?: Partial<SharedFile> | undefined;
}

const member = (id: string, { site = "", serves = true, asks, holds }: Spec): SharingMember => ({
  id: nodeId(id),
  site,
  serves,
  report: {
    held: holds === undefined ? [] : [{ ...file, ...holds }],
    transfers: asks === undefined ? [] : [transfer(asks)],
  },
});

function decide(
  specs: Readonly<Record<string, Spec>>,
  { before = new Map(), now = 0 }: { before?: Leads; now?: number } = {},
) {
  const members = Object.entries(specs).map(([id, spec]) => member(id, spec));
  const { leads, wanted } = shareWeights(members, before, { now: millis(now), policy: POLICY });
  const shown = Object.fromEntries(
    [...wanted].map(([id, orders]) => [
      id,
      orders.flatMap<string>(({ toOrigin, sources }) => (toOrigin ? ["origin", ...sources] : sources)).toSorted(),
    ]),
  );
  return { leads, wanted, shown };
}

describe("who fetches a file from whom", () => {
  test.each<readonly [string, Readonly<Record<string, Spec>>, Readonly<Record<string, readonly string[]>>]>([
    ["alone: the source", { a: { asks: {} } }, { a: ["origin"] }],
    ["a holder comes before the source", { a: { asks: {} }, b: { holds: {} } }, { a: ["b"] }],
    [
      "of several, one goes outside and the others take from it",
      { a: { asks: {} }, b: { asks: {} }, c: { asks: {} } },
      { a: ["origin"], b: ["a"], c: ["a"] },
    ],
    [
      "what has arrived anywhere is passed on",
      { a: { asks: {} }, b: { asks: { done: 4 } }, c: { asks: {} } },
      { a: ["b"], b: ["origin"], c: ["b"] },
    ],
    [
      "who is there already stays the one that goes there",
      { a: { asks: { done: 90 } }, b: { asks: { doing: "origin", done: 1 } } },
      { a: ["b"], b: ["a", "origin"] },
    ],
    [
      "each site has a way of its own",
      { a: { asks: {}, site: "x" }, b: { holds: {}, site: "y" }, c: { asks: {}, site: "y" } },
      { a: ["origin"], c: ["b"] },
    ],
    ["a holder that serves nobody is none", { a: { asks: {} }, b: { holds: {}, serves: false } }, { a: ["origin"] }],
    [
      "other content under the same name is no use",
      { a: { asks: {} }, b: { holds: { sha256: "bb" } } },
      { a: ["origin"] },
    ],
    ["a hash that is not known contradicts nothing", { a: { asks: {} }, b: { holds: { sha256: "" } } }, { a: ["b"] }],
    [
      "who gave wrong bytes is asked by nobody",
      { a: { asks: { wrong: [nodeId("b")] } }, b: { holds: {} }, c: { holds: {} }, d: { asks: {} } },
      { a: ["c"], d: ["c"] },
    ],
    [
      "who cannot be fetched from is sent to the source last",
      { a: { asks: { done: 5 }, serves: false }, b: { asks: {} } },
      { a: ["b"], b: ["origin"] },
    ],
    [
      "a holder that does not let it in is none for it, and one for the others",
      { a: { asks: { unreachable: [nodeId("b")] } }, b: { holds: {} }, c: { asks: {} } },
      { a: ["origin"], c: ["b"] },
    ],
    [
      "whoever cannot reach the one that goes to the source goes there too",
      { a: { asks: { doing: "origin" } }, b: { asks: { unreachable: [nodeId("a")] } } },
      { a: ["origin"], b: ["origin"] },
    ],
    [
      "nobody waits for one that gives nothing",
      { a: { asks: {}, serves: false }, b: { asks: {}, serves: false } },
      { a: ["origin"], b: ["origin"] },
    ],
    [
      "the only holder gave wrong bytes: the source",
      { a: { asks: { wrong: [nodeId("b")] } }, b: { holds: {} } },
      { a: ["origin"] },
    ],
  ])("%s", (_name, specs, expected) => {
    expect(decide(specs).shown).toEqual(expected);
  });
});

describe("the one that goes outside", () => {
  const two = { a: { asks: { doing: "origin" as const, done: 10 } }, b: { asks: {} } };
  const { leads } = decide(two);

  test("stays as long as it gets on", () => {
    const later = decide({ ...two, a: { asks: { doing: "origin", done: 11 } } }, { before: leads, now: 59_000 });
    expect([...later.leads.values()]).toEqual([{ leader: "a", done: 11, since: 59_000, passed: [] }]);
    expect(decide({ a: { asks: { done: 11 } }, b: { asks: {} } }, { before: later.leads, now: 100_000 }).shown).toEqual(
      {
        a: ["origin"],
        b: ["a"],
      },
    );
  });

  test("is replaced when it comes to a halt, and not chosen again at once", () => {
    const slow = decide(two, { before: leads, now: 60_000 });
    expect(slow.shown).toEqual({ a: ["b"], b: ["a", "origin"] });
  });

  test("when all have come to a halt, everyone goes by itself", () => {
    const slow = decide(two, { before: leads, now: 60_000 });
    const both = decide(two, { before: slow.leads, now: 120_000 });
    expect([both.shown["a"]?.includes("origin"), both.shown["b"]?.includes("origin")]).toEqual([true, true]);
  });

  test("that has failed is replaced at once", () => {
    expect(decide({ a: {}, b: { asks: {} } }, { before: leads, now: 1 }).shown).toEqual({ b: ["origin"] });
  });

  test("that is not connected is not dead: it is waited for, but not for ever", () => {
    expect(decide({ b: { asks: {} } }, { before: leads, now: 19_000 }).shown).toEqual({ b: [] });
    expect(decide({ b: { asks: {} } }, { before: leads, now: 20_000 }).shown).toEqual({ b: ["origin"] });
  });
});

describe("always", () => {
  const spec = fc.record({
    site: fc.constantFrom("x", "y"),
    serves: fc.boolean(),
    asks: fc.option(
      fc.record({
        done: fc.integer({ min: 0, max: 100 }),
        doing: fc.constantFrom("waiting" as const, "origin" as const, "peers" as const),
        wrong: fc.subarray(["n0", "n1", "n2"].map(nodeId)),
      }),
      { nil: undefined },
    ),
    holds: fc.option(fc.record({ sha256: fc.constantFrom("aa", "bb", "") }), { nil: undefined }),
  });
  const cluster = fc.array(spec, { minLength: 1, maxLength: 7 });
  const membersOf = (specs: readonly Spec[]): readonly SharingMember[] =>
    specs.map((one, i) => member(`n${String(i)}`, one));

  test("nobody who asks is left without a way, one of a site goes outside at most, and nobody is sent to itself", () => {
    fc.assert(
      fc.property(cluster, (specs) => {
        const members = membersOf(specs);
        const { wanted } = shareWeights(members, new Map(), { now: millis(0), policy: POLICY });
        const siteOf = new Map(members.map(({ id, site }) => [id, site]));
        // Whoever is said to have given wrong bytes leads for itself alone.
        const isWronged = specs.some(({ asks }) => (asks?.wrong ?? []).length > 0);
        const outside = [...wanted].filter(([, orders]) => orders.some(({ toOrigin }) => toOrigin)).map(([id]) => id);
        for (const site of ["x", "y"]) {
          const asking = [...wanted.keys()].filter((id) => siteOf.get(id) === site);
          const going = outside.filter((id) => siteOf.get(id) === site);
          const all = members.filter((one) => one.site === site).every(({ serves }) => serves);
          if (all && !isWronged) expect(going.length).toBeLessThanOrEqual(1);
          for (const id of asking) {
            const sources: readonly NodeId[] = (wanted.get(id) ?? []).flatMap((order) => order.sources);
            expect(sources).not.toContain(id);
            expect(sources.every((source) => siteOf.get(source) === site)).toBe(true);
            // Whoever has nobody to take from waits for the one that goes.
            expect(sources.length > 0 || going.length > 0).toBe(true);
          }
        }
      }),
    );
  });

  test("the same is decided again while nothing changes", () => {
    fc.assert(
      fc.property(cluster, (specs) => {
        const members = membersOf(specs);
        const first = shareWeights(members, new Map(), { now: millis(0), policy: POLICY });
        const second = shareWeights(members, first.leads, { now: millis(1_000), policy: POLICY });
        expect(second.wanted).toEqual(first.wanted);
      }),
    );
  });
});
