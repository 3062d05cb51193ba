import { describe, expect, test } from "vitest";
import type { NewEvent } from "../core/event.ts";
import { type NodeId, nodeId } from "../core/ids.ts";
import type { SharedTransfer, SharingPlan, SharingReport } from "../core/sharing.ts";
import { SimClock } from "../../test/sim/sim-clock.ts";
import type { SharingNode } from "./sessions/agents.ts";
import { WeightsDesk } from "./weights-desk.ts";

const file = { key: "f/m", bytes: 10, sha256: "aa" };
const asks = (rest: Partial<SharedTransfer> = {}): SharedTransfer => ({
  ...{ file, source: "hf:acme/m", doing: "waiting", done: 0, round: 1, wrong: [], from: [], unreachable: [] },
  ...rest,
});
const report = (rest: Partial<SharingReport> = {}): SharingReport => ({
  ...{ port: 7445, tls: false, held: [], transfers: [], originBytes: 0, peerBytes: 0, finds: [] },
  ...rest,
});
const node = (id: string, said: Partial<SharingReport>, instance = "i1"): SharingNode => ({
  ...{ id: nodeId(id), instance, address: "10.0.0.1", labels: {}, report: report(said) },
});

/** A desk, the nodes that it sees, and what it has told each. */
function desk() {
  const time = new SimClock();
  const clock = {
    ...time.lifetime({ offset: 0 }).clock,
    step(by: number): void {
      const end = time.now + by;
      for (let next = time.next; next !== undefined && next <= end; next = time.next) time.runNext();
      time.skipTo(end);
    },
  };
  const seen = { nodes: [] as readonly SharingNode[], isOn: true };
  const told = new Map<NodeId, SharingPlan>();
  const events: NewEvent[] = [];
  const made = new WeightsDesk({
    clock,
    isOn: () => seen.isOn,
    report: (event) => events.push(event),
    agents: { gatherSharing: () => seen.nodes, publishSharing: (id, plan) => told.set(id, plan) },
  });
  const look = (...nodes: readonly SharingNode[]): void => {
    seen.nodes = nodes;
    made.changed();
    clock.step(50);
  };
  return { clock, seen, told: (id: string) => told.get(nodeId(id)), events, look, desk: made };
}

describe("a permission", () => {
  const pair = [node("a", { transfers: [asks()] }), node("b", { held: [file] })] as const;

  test("is the same for both, and stays while it is wanted", () => {
    const { told, look, clock } = desk();
    look(...pair);
    const [source] = told("a")?.orders[0]?.sources ?? [];
    expect(source).toMatchObject({ node: "b", host: "10.0.0.1", port: 7445 });
    expect(told("b")?.permissions).toEqual([
      { permission: source?.permission, node: "a", key: "f/m", validFor: 600_000 },
    ]);
    clock.step(1_000);
    expect(told("a")?.orders[0]?.sources[0]?.permission).toBe(source?.permission);
  });

  test.each([
    ["a new round", [node("a", { transfers: [asks({ round: 2 })] }), pair[1]]],
    [
      "an agent that was started again, which has forgotten what was used",
      [pair[0], node("b", { held: [file] }, "i2")],
    ],
  ] as const)("is another one for %s", (_name, later) => {
    const { told, look } = desk();
    look(...pair);
    const before = told("a")?.orders[0]?.sources[0]?.permission;
    look(...later);
    expect(told("a")?.orders[0]?.sources[0]?.permission).not.toBe(before);
    expect(told("b")?.permissions).toHaveLength(1);
  });

  test("ends with what it was for", () => {
    const { told, look } = desk();
    look(...pair);
    look(node("a", { held: [file] }), pair[1]);
    expect(told("b")?.permissions).toEqual([]);
  });
});

test("switched off, everyone is sent to the source and nobody may serve", () => {
  const { told, look, seen } = desk();
  seen.isOn = false;
  look(node("a", { transfers: [asks()] }), node("b", { held: [file] }));
  expect(told("a")?.orders).toMatchObject([{ key: "f/m", toOrigin: true, sources: [] }]);
  expect(told("b")?.permissions).toEqual([]);
});

test("news without end does not put off the plan", () => {
  const { told, desk: made, seen, clock } = desk();
  seen.nodes = [node("a", { transfers: [asks()] })];
  for (let step = 0; step < 10; step += 1) {
    made.changed();
    clock.step(10);
  }
  expect(told("a")?.orders).toHaveLength(1);
});

test("wrong bytes are told once, and the one that gave them checks its file", () => {
  const { told, look, events, clock } = desk();
  const finds = [{ node: nodeId("b"), key: "f/m" }];
  look(node("a", { finds, transfers: [asks({ wrong: [nodeId("b")] })] }), node("b", { held: [file] }));
  clock.step(1_000);
  expect(events).toMatchObject([{ subject: "b", reason: "WrongWeights", level: "warning" }]);
  expect(told("b")?.suspects).toEqual(["f/m"]);
  expect(told("a")?.orders).toMatchObject([{ toOrigin: true, sources: [] }]);
});

test("bytes are counted over reconnects, and go on when an agent begins anew", () => {
  const { look, desk: made } = desk();
  look(node("a", { originBytes: 5, peerBytes: 1 }));
  look();
  look(node("a", { originBytes: 7, peerBytes: 1 }));
  look(node("a", { originBytes: 2, peerBytes: 0 }, "i2"));
  expect(made.bytes).toEqual({ origin: 9, peer: 1 });
});
