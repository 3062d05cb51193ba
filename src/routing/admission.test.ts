import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { admit } from "./admission.ts";
import { GOOD, type Health } from "./health.ts";
import { ROUTING_POLICIES } from "./policies.ts";

interface Replica {
  readonly name: string;
  readonly inFlight: number;
  readonly lastPicked: number;
  readonly health: Health;
}

const asideUntil = (until: number): Health => ({
  kind: "aside",
  cause: "unreachable",
  until: millis(until),
  times: 1,
  isTested: false,
});
const replica = (name: string, change: Partial<Replica> = {}): Replica => ({
  name,
  inFlight: 0,
  lastPicked: 0,
  health: GOOD,
  ...change,
});

const policy = ROUTING_POLICIES["least-in-flight"].build({});
const a = replica("a", { inFlight: 3 });
const b = replica("b", { inFlight: 1 });
const away = replica("away", { health: asideUntil(1_500) });
const longAway = replica("longAway", { health: asideUntil(9_000) });
const due = replica("due", { health: asideUntil(1_000) });

describe("admit, at 1000 ms", () => {
  test.each([
    { name: "the policy chooses among the good", replicas: [a, b], tried: [], want: { kind: "send", to: b } },
    {
      name: "what failed this request is not asked again",
      replicas: [a, b],
      tried: [b],
      want: { kind: "send", to: a },
    },
    {
      name: "what is aside is passed over, however idle",
      replicas: [a, away],
      tried: [],
      want: { kind: "send", to: a },
    },
    {
      name: "what was aside long enough is tested by a request",
      replicas: [due],
      tried: [],
      want: { kind: "send", to: due },
    },
    { name: "no replica", replicas: [], tried: [], want: { kind: "none" } },
    {
      name: "all aside: the wait is until the first returns",
      replicas: [longAway, away],
      tried: [],
      want: { kind: "aside", wait: 500 },
    },
    {
      name: "the one that just failed is nothing to wait for",
      replicas: [away],
      tried: [away],
      want: { kind: "exhausted" },
    },
    { name: "all tried", replicas: [a, b], tried: [a, b], want: { kind: "exhausted" } },
  ])("$name", ({ replicas, tried, want }) => {
    expect(admit({ replicas, tried, policy }, millis(1_000), () => 0)).toEqual(want);
  });
});
