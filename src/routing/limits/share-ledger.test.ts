import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SharedLimits } from "../../core/client-key.ts";
import { millis } from "../../core/ids.ts";
import { type KeyReport, ShareLedger } from "./share-ledger.ts";

const TIMES = {
  lease: millis(60_000),
  margin: millis(10_000),
  forget: millis(3_600_000),
  pace: millis(0),
  ask: millis(0),
};
const none: SharedLimits = { requestsPerMinute: undefined, tokensPerMinute: undefined, concurrency: undefined };
const slots = (concurrency: number): SharedLimits => ({ ...none, concurrency });

const unsaid = { requestsPerMinute: undefined, tokensPerMinute: undefined, concurrency: undefined };
const says = (share: number, used: number, wanted = used): KeyReport => ({
  ...unsaid,
  keyId: "k",
  concurrency: { share, used, wanted },
});

function ledgerOf(concurrency: number, ...ids: readonly string[]): ShareLedger {
  const ledger = new ShareLedger(TIMES);
  ledger.setKeys([["k", slots(concurrency)]]);
  for (const id of ids) {
    ledger.join(id);
    ledger.hear(id, 0, []);
  }
  ledger.divide(millis(0));
  return ledger;
}

/** The last share that each is told, with its confirmation of it. */
function settle(ledger: ShareLedger, ids: readonly string[], used: (id: string) => number = () => 0) {
  const shares = new Map<string, number>();
  for (let round = 0; round < 5; round++) {
    for (const id of ids) {
      const news = ledger.take(id);
      if (news === undefined) continue;
      for (const [, share] of news.keys) shares.set(id, share.concurrency ?? -1);
      if (news.keys.length > 0) ledger.hear(id, news.revision, [says(shares.get(id) ?? 0, used(id))]);
      ledger.divide(millis(1));
    }
  }
  return ids.map((id) => shares.get(id));
}

describe("who is given what", () => {
  test("one alone has it all, with its first word", () => {
    expect(ledgerOf(5, "a").take("a")).toEqual({ revision: 1, sharers: 1, keys: [["k", slots(5)]] });
  });

  test("two have half each", () => {
    expect(settle(ledgerOf(6, "a", "b"), ["a", "b"])).toEqual([3, 3]);
  });

  test("a newcomer gets nothing before the others have given it up", () => {
    const ledger = ledgerOf(6, "a");
    expect(ledger.take("a")?.keys).toEqual([["k", slots(6)]]);
    ledger.hear("a", 1, [says(6, 2)]);
    ledger.join("b");
    ledger.hear("b", 0, []);
    ledger.divide(millis(1));
    expect(ledger.take("b")?.keys).toEqual([["k", slots(0)]]);
    expect(ledger.take("a")?.keys).toEqual([["k", slots(5)]]);
    ledger.hear("a", 1, [says(6, 5)]);
    ledger.divide(millis(2));
    expect(ledger.take("b")?.keys ?? []).toEqual([]);
    // It goes by its smaller share now.
    ledger.hear("a", 2, [says(5, 5)]);
    ledger.divide(millis(3));
    expect(ledger.take("b")?.keys).toEqual([["k", slots(1)]]);
  });

  test("who wants more than it has gets what others do not use", () => {
    const ledger = ledgerOf(10, "a", "b");
    settle(ledger, ["a", "b"]);
    ledger.hear("a", 9, [says(5, 5, 50)]);
    ledger.divide(millis(1));
    expect(settle(ledger, ["a", "b"], (id) => (id === "a" ? 9 : 0))).toEqual([9, 1]);
  });

  test("a limit that is lowered is lowered everywhere at once", () => {
    const ledger = ledgerOf(10, "a", "b");
    settle(ledger, ["a", "b"]);
    ledger.setKeys([["k", slots(4)]]);
    ledger.divide(millis(1));
    expect(settle(ledger, ["a", "b"])).toEqual([2, 2]);
  });
});

describe("those who are gone", () => {
  const at = (ledger: ShareLedger, now: number): number | undefined => {
    ledger.divide(millis(now));
    return ledger.take("b")?.keys[0]?.[1].concurrency;
  };

  test("a silent sharer keeps what it has for its lease, then an equal part, and nothing when it is forgotten", () => {
    const ledger = ledgerOf(10, "a", "b");
    settle(ledger, ["a", "b"]);
    ledger.hear("a", 9, [says(5, 5, 50)]);
    ledger.divide(millis(1));
    settle(ledger, ["a", "b"], (id) => (id === "a" ? 9 : 0));
    ledger.lose("a", millis(1_000));
    ledger.hear("b", 99, [says(0, 0, 20)]);
    expect(at(ledger, 70_000)).toBeUndefined();
    expect(at(ledger, 71_001)).toBe(5);
    expect(at(ledger, 3_601_000)).toBe(10);
  });

  test("one that is proven to have ended is done with", () => {
    const ledger = ledgerOf(10, "a", "b");
    settle(ledger, ["a", "b"]);
    ledger.end("a", millis(1_000));
    expect(at(ledger, 1_000)).toBe(10);
  });

  test("but what it used of a minute is used for that minute", () => {
    const ledger = new ShareLedger(TIMES);
    ledger.setKeys([["k", { ...none, requestsPerMinute: 10 }]]);
    const report = (share: number, used: number) => ({
      ...unsaid,
      keyId: "k",
      requestsPerMinute: { share, used, wanted: used },
    });
    ledger.join("a");
    ledger.hear("a", 0, [report(10, 7)]);
    ledger.end("a", millis(1_000));
    ledger.join("b");
    ledger.hear("b", 0, []);
    ledger.divide(millis(1_000));
    expect(ledger.take("b")?.keys[0]?.[1].requestsPerMinute).toBe(3);
    ledger.divide(millis(61_000));
    expect(ledger.take("b")?.keys[0]?.[1].requestsPerMinute).toBe(10);
  });

  test("a ledger that begins anew gives nothing away while others may hold it", () => {
    const ledger = new ShareLedger(TIMES);
    ledger.setKeys([["k", slots(10)]]);
    ledger.expect(["a", "x"], millis(0));
    ledger.join("b");
    ledger.hear("b", 0, [says(2, 1)]);
    ledger.divide(millis(1));
    expect(ledger.take("b")?.keys).toEqual([["k", slots(2)]]);
    ledger.join("a");
    ledger.hear("a", 0, [says(3, 0)]);
    ledger.hear("b", 1, [says(2, 2, 9)]);
    expect(at(ledger, 69_999)).toBeUndefined();
    // x is not heard: half of it all is the most that it may still have.
    ledger.divide(millis(70_000));
    const lowered = ledger.take("a");
    expect(lowered?.keys[0]?.[1].concurrency).toBe(0);
    ledger.hear("a", lowered?.revision ?? 0, [says(0, 0)]);
    expect(at(ledger, 70_001)).toBe(5);
    ledger.end("x", millis(70_002));
    ledger.hear("b", 2, [says(5, 5, 9)]);
    expect(at(ledger, 70_002)).toBeGreaterThanOrEqual(9);
  });
});

/** A sharer that does what it is told, later, over a connection that keeps the order and may break. */
class Actor {
  share = 0;
  used = 0;
  wanted = 0;
  revision = 0;
  isConnected = true;
  inbox: { readonly revision: number; readonly share: number }[] = [];
  outbox: { readonly revision: number; readonly report: KeyReport }[] = [];

  report(): void {
    this.outbox.push({ revision: this.revision, report: says(this.share, this.used, this.used + this.wanted) });
  }
}

interface Step {
  readonly kind: (typeof kinds)[number];
  readonly who: number;
}

const kinds = [
  "want",
  "begin",
  "begin",
  "end",
  "report",
  "send",
  "send",
  "receive",
  "receive",
  "break",
  "return",
] as const;
const step: fc.Arbitrary<Step> = fc.record({ kind: fc.constantFrom(...kinds), who: fc.nat({ max: 2 }) });

class World {
  readonly ledger = new ShareLedger(TIMES);
  readonly actors = [new Actor(), new Actor(), new Actor()];
  now = 0;

  constructor(limit: number) {
    this.ledger.setKeys([["k", slots(limit)]]);
    for (const who of this.actors.keys()) this.connect(who);
  }

  connect(who: number): void {
    const actor = this.actor(who);
    actor.isConnected = true;
    actor.revision = 0;
    this.ledger.join(String(who));
    actor.report();
  }

  actor(who: number): Actor {
    const actor = this.actors[who];
    if (actor === undefined) throw new Error("no such actor");
    return actor;
  }

  take({ kind, who }: Step): void {
    this.now += 1;
    const actor = this.actor(who);
    const actions: Readonly<Record<Step["kind"], () => void>> = {
      want: () => (actor.wanted += 3),
      begin: () => (actor.used < actor.share ? (actor.used += 1) : (actor.wanted += 1)),
      end: () => (actor.used = Math.max(0, actor.used - 1)),
      report: () => {
        if (actor.isConnected) actor.report();
      },
      send: () => {
        this.deliverUp(actor, String(who));
      },
      receive: () => {
        this.deliverDown(actor);
      },
      break: () => {
        actor.isConnected = false;
        actor.inbox = [];
        actor.outbox = [];
        this.ledger.lose(String(who), millis(this.now));
      },
      return: () => {
        if (!actor.isConnected) this.connect(who);
      },
    };
    actions[kind]();
  }

  deliverUp(actor: Actor, id: string): void {
    const said = actor.outbox.shift();
    if (said !== undefined && actor.isConnected) this.ledger.hear(id, said.revision, [said.report]);
    this.ledger.divide(millis(this.now));
    for (const [who, other] of this.actors.entries()) {
      const news = this.ledger.take(String(who));
      const share = news?.keys[0]?.[1].concurrency;
      if (news !== undefined && share !== undefined && other.isConnected) {
        other.inbox.push({ revision: news.revision, share });
      }
    }
  }

  deliverDown(actor: Actor): void {
    const heard = actor.inbox.shift();
    if (heard === undefined) return;
    actor.share = heard.share;
    actor.revision = heard.revision;
    actor.report();
  }

  get used(): number {
    return this.actors.reduce((sum, { used }) => sum + used, 0);
  }

  get mayUse(): number {
    return this.actors.reduce((sum, { used, share }) => sum + Math.max(used, share), 0);
  }
}

test("whatever is lost, late or cut off, nobody may use more than the limit together", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 200 }), (limit, steps) => {
      const world = new World(limit);
      for (const one of steps) {
        world.take(one);
        expect(world.mayUse).toBeLessThanOrEqual(limit);
      }
    }),
    { numRuns: 400 },
  );
});

test("and when messages come through, all of it is used as long as somebody wants it", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.array(step, { maxLength: 60 }),
      fc.nat({ max: 2 }),
      (limit, steps, hungry) => {
        const world = new World(limit);
        for (const one of steps) world.take(one);
        for (const who of world.actors.keys()) world.take({ kind: "return", who });
        for (let round = 0; round < 40; round++) {
          for (const who of world.actors.keys()) {
            if (who === hungry) for (let n = 0; n < 13; n++) world.take({ kind: "begin", who });
            else {
              world.take({ kind: "end", who });
              world.actor(who).wanted = 0;
            }
            world.take({ kind: "report", who });
            for (let n = 0; n < 3; n++) {
              world.take({ kind: "send", who });
              world.take({ kind: "receive", who });
            }
            expect(world.mayUse).toBeLessThanOrEqual(limit);
          }
        }
        expect(world.actor(hungry).used).toBe(limit);
      },
    ),
    { numRuns: 200 },
  );
});
