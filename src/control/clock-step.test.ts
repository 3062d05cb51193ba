import { describe, expect, test } from "vitest";
import { gangReplica, running, starting } from "../../test/fakes/gangs.ts";
import { snapshot, storedNode } from "../../test/fakes/snapshots.ts";
import { profile, replica } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import type { ReplicaState } from "../core/replica-state.ts";
import { afterStep, stepBetween } from "./clock-step.ts";

const HOUR = millis(3_600_000);
const endpoint = { host: "10.0.0.1", port: 41_000 };
const draining: ReplicaState = { kind: "draining", endpoint, slots: 4, deadline: millis(60_000), why: "changed" };

test.each([
  { name: "forwards", ahead: 3_600_000, want: 3_600_000 },
  { name: "backwards", ahead: -3_600_000, want: -3_600_000 },
  { name: "not at all", ahead: 0, want: 0 },
  { name: "by what time servers slew it", ahead: 900, want: 0 },
])("a clock that goes $name", ({ ahead, want }) => {
  expect(stepBetween(millis(0), millis(ahead))).toBe(want);
});

describe("after a step", () => {
  test("what drains has as long as before, and so has a node that is emptied", () => {
    const drain = { since: millis(1_000), deadline: millis(90_000) };
    const before = snapshot({
      replicas: [replica("a", profile("smol"), draining, { since: millis(500) })],
      nodes: [storedNode("n1", { drain }), storedNode("n2")],
    });
    const { replicas, nodes } = afterStep(before, HOUR);
    expect(replicas[0]).toMatchObject({ since: HOUR + 500, state: { deadline: HOUR + 60_000, why: "changed" } });
    expect(nodes[0]?.drain).toEqual({ since: HOUR + 1_000, deadline: HOUR + 90_000 });
    expect(nodes[1]).toBe(before.nodes[1]);
  });

  test("a gang waits as long as before for its next start and for its ranks' last words", () => {
    const ending = {
      ...{ since: millis(7), served: undefined, rank: 0, at: 5, reason: "", lastLines: [] },
      ...{ retry: true, blamesOthers: false },
    };
    const gang = gangReplica(starting, { ...running, retryAt: millis(9_000), ending });
    const [after] = afterStep(snapshot({ replicas: [gang] }), HOUR).replicas;
    expect(after?.gang).toMatchObject({ retryAt: HOUR + 9_000, ending: { since: HOUR + 7, at: 5 } });
  });

  test("nothing is another object where the clock was not set", () => {
    const before = snapshot({ replicas: [replica("a", profile("smol"), draining)] });
    expect(afterStep(before, millis(0))).toBe(before);
  });
});
