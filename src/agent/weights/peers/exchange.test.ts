import { describe, expect, test } from "vitest";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { nodeId } from "../../../core/ids.ts";
import type { SharingPlan } from "../../../core/sharing.ts";
import { Exchange } from "./exchange.ts";

const file = { key: "f/m", bytes: 10, sha256: "aa" };
const order = { key: "f/m", toOrigin: false, leaderDone: 0, sources: [] };
const plan = (rest: Partial<SharingPlan> = {}): SharingPlan => ({ orders: [], permissions: [], suspects: [], ...rest });

function exchange() {
  const time = new SimClock();
  const state = { changes: 0, suspects: [] as string[] };
  const made = new Exchange({
    clock: time.lifetime({ offset: 0 }).clock,
    isConnected: () => true,
    changed: () => (state.changes += 1),
    onPermissions: () => undefined,
    onSuspects: (keys) => state.suspects.push(...keys),
  });
  return { exchange: made, time, state };
}

describe("what a node tells", () => {
  test("is what it is getting now, and growing numbers once a second", () => {
    const { exchange: made, time, state } = exchange();
    const transfer = made.begin(file, "hf:acme/m");
    expect(state.changes).toBe(1);
    for (const done of [1, 2, 3]) transfer.update({ done });
    expect(state.changes).toBe(1);
    time.runNext();
    expect(state.changes).toBe(2);
    expect(made.report().transfers).toMatchObject([{ file, done: 3, doing: "waiting" }]);
    transfer.update({ doing: "origin" });
    expect(state.changes).toBe(3);
    transfer.end();
    expect(made.report().transfers).toEqual([]);
  });

  test("a find is said for a minute", () => {
    const { exchange: made, time } = exchange();
    made.found({ node: nodeId("b"), key: "f/m" });
    expect(made.report().finds).toHaveLength(1);
    time.runNext();
    expect([made.report().finds, time.now]).toEqual([[], 60_000]);
  });

  test("a node that stops waits for none of it", () => {
    const { exchange: made, time } = exchange();
    made.found({ node: nodeId("b"), key: "f/m" });
    made.begin(file, "hf:acme/m").update({ done: 1 });
    made.close();
    expect(time.next).toBeUndefined();
  });
});

describe("what a node is told", () => {
  test("is for the transfer that it was said of, and ends with the connection", () => {
    const { exchange: made, state } = exchange();
    const transfer = made.begin(file, "hf:acme/m");
    let heard = 0;
    const forget = transfer.onPlan(() => (heard += 1));
    made.take(plan({ orders: [order], suspects: ["f/n"] }));
    expect([transfer.order(), heard, state.suspects]).toEqual([order, 1, ["f/n"]]);
    made.forget();
    expect(transfer.order()).toBeUndefined();
    forget();
    made.take(plan({ orders: [order] }));
    expect(heard).toBe(1);
  });

  test("holds until something else is said, and the next transfer of the file wants permissions of its own", () => {
    const { exchange: made } = exchange();
    const first = made.begin(file, "hf:acme/m");
    first.update({ round: 3 });
    made.take(plan({ orders: [order] }));
    first.end();
    const second = made.begin(file, "hf:acme/m");
    expect([second.order(), second.round]).toEqual([order, 4]);
    made.take(plan());
    expect(second.order()).toBeUndefined();
  });
});
