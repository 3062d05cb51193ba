import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { admit } from "./admission.ts";
import { GOOD, type Health } from "./health.ts";
import { ROUTING_POLICIES } from "./policies.ts";
import type { Candidate, PickContext } from "./policy.ts";
import { NO_PROMPT } from "./prompt.ts";

interface Replica extends Candidate {
  readonly health: Health;
  readonly most: number;
}

const asideUntil = (until: number): Health => ({
  kind: "aside",
  cause: "unreachable",
  until: millis(until),
  times: 1,
  isTested: false,
});
const replica = (id: string, change: Partial<Replica> = {}): Replica => ({
  id,
  idHash: 0,
  inFlight: 0,
  queuedTokens: 0,
  most: Infinity,
  lastPicked: 0,
  health: GOOD,
  ...change,
});

const policy = ROUTING_POLICIES["least-in-flight"].build({});
const context: PickContext = { prompt: NO_PROMPT, holders: () => [], random: () => 0 };
const full = replica("full", { inFlight: 2, most: 2 });
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
    { name: "what is full is passed over", replicas: [full, a], tried: [], want: { kind: "send", to: a } },
    { name: "all full", replicas: [full], tried: [], want: { kind: "full" } },
    { name: "all full but those that are aside", replicas: [full, away], tried: [], want: { kind: "full" } },
    { name: "all full but one that failed this request", replicas: [full, a], tried: [a], want: { kind: "full" } },
    { name: "the only full one has failed this request", replicas: [full], tried: [full], want: { kind: "exhausted" } },
    { name: "all tried", replicas: [a, b], tried: [a, b], want: { kind: "exhausted" } },
  ])("$name", ({ replicas, tried, want }) => {
    expect(admit({ replicas, tried, needsSlot: true, policy, context }, millis(1_000))).toEqual(want);
  });

  test("what takes no slot goes to a full one too", () => {
    const ask = { replicas: [full], tried: [], needsSlot: false, policy, context };
    expect(admit(ask, millis(1_000))).toEqual({ kind: "send", to: full });
  });
});
