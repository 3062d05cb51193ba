import { expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { step, type SupervisorPolicy } from "./supervise.ts";
import { newSupervision, type SupervisedState, type SupervisorEvent } from "./supervision.ts";

const policy: SupervisorPolicy = {
  ...{ startTimeout: millis(15_000), stopTimeout: millis(5000), killAgainAfter: millis(2000), maxAttempts: 3 },
  ...{ stableAfter: millis(60_000), backoff: { base: millis(1000), max: millis(60_000) }, isRank: true },
};
const process = { pid: 42, startTicks: 777 };
const endpoint = { host: "127.0.0.1", port: 41_000 };
const end = { reason: "it crashed", retry: true };
const preparing: SupervisedState = { kind: "preparing", progress: undefined };
const waiting: SupervisedState = { kind: "waiting" };
const ready: SupervisedState = {
  ...{ kind: "ready", process, endpoint, capacity: { slots: 0, context: 0 }, since: millis(0), unanswered: 0 },
};
const exited: SupervisorEvent = { kind: "exited", end, lastLines: ["last words"], leftovers: false };
const failed = { kind: "failed", reason: "it crashed", lastLines: ["last words"] };

test.each<{ name: string; from: SupervisedState; event: SupervisorEvent; to: object; effects: readonly string[] }>([
  { name: "prepared: waits", from: preparing, event: { kind: "prepared" }, to: waiting, effects: [] },
  { name: "may start", from: waiting, event: { kind: "startOrdered" }, to: { kind: "launching" }, effects: ["launch"] },
  { name: "may start, and does already", from: ready, event: { kind: "startOrdered" }, to: ready, effects: [] },
  {
    name: "told to stop before it may start",
    from: waiting,
    event: { kind: "stopRequested" },
    to: { kind: "stopped" },
    effects: [],
  },
  {
    name: "cannot take part, while it prepares",
    from: preparing,
    event: { kind: "partLost", end },
    to: { kind: "failed", reason: "it crashed" },
    effects: ["abandon"],
  },
  {
    name: "cannot take part, while it waits",
    from: waiting,
    event: { kind: "partLost", end },
    to: { kind: "failed", reason: "it crashed" },
    effects: [],
  },
  { name: "cannot take part, although it runs", from: ready, event: { kind: "partLost", end }, to: ready, effects: [] },
  {
    name: "its process ends: it is not started again by itself",
    from: ready,
    event: exited,
    to: failed,
    effects: ["forget"],
  },
])("$name", ({ from, event, to, effects }) => {
  const done = step({ ...newSupervision, state: from }, event, { now: millis(120_000), random: () => 1, policy });
  expect(done.next.state).toMatchObject(to);
  expect(done.effects.map(({ kind }) => kind)).toEqual(effects);
});
