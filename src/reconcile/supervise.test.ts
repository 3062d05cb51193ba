import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { step, type SupervisorPolicy } from "./supervise.ts";
import {
  newSupervision,
  type Effect,
  type SupervisedState,
  type Supervision,
  type SupervisorEvent,
} from "./supervision.ts";

const policy: SupervisorPolicy = {
  startTimeout: millis(15_000),
  stopTimeout: millis(5000),
  killAgainAfter: millis(2000),
  maxAttempts: 3,
  stableAfter: millis(60_000),
  isRank: false,
  backoff: { base: millis(1000), max: millis(60_000) },
};

const process = { pid: 42, startTicks: 777 };
const endpoint = { host: "127.0.0.1", port: 41_000 };
const capacity = { slots: 4, context: 2048 };
const end = { reason: "it crashed", retry: true };
const waits = { reason: "no space", retry: true, waits: true } as const;
const hopeless = { reason: "missing library", retry: false };

const preparing: SupervisedState = { kind: "preparing", progress: undefined };
const launching: SupervisedState = { kind: "launching" };
const abandoning: SupervisedState = { kind: "abandoning" };
const starting: SupervisedState = { kind: "starting", process, endpoint, deadline: millis(15_000), note: "" };
const ready: SupervisedState = { kind: "ready", process, endpoint, capacity, since: millis(0), unanswered: 0 };
const stopping = { kind: "stopping", process, killAt: millis(5000), outcome: { kind: "stopped" }, note: "" } as const;
const ending: SupervisedState = {
  kind: "stopping",
  process,
  note: "",
  killAt: millis(5000),
  outcome: { kind: "failure", attempt: { end, served: undefined } },
};
const backoff: SupervisedState = { kind: "backoff", retryAt: millis(1000), phase: "starting" };
const stopped: SupervisedState = { kind: "stopped" };
const failed: SupervisedState = { kind: "failed", reason: "x", lastLines: [] };

const exited = (over: Partial<Extract<SupervisorEvent, { kind: "exited" }>> = {}): SupervisorEvent => ({
  kind: "exited",
  end,
  lastLines: ["last words"],
  leftovers: false,
  ...over,
});
const supervision = (state: SupervisedState, over: Partial<Supervision> = {}): Supervision => ({
  ...newSupervision,
  ...over,
  state,
});
const run = (before: Supervision, event: SupervisorEvent, now = 0) =>
  step(before, event, { now: millis(now), random: () => 1, policy });
const shown = (effect: Effect): string => (effect.kind === "signal" ? effect.signal : effect.kind);

interface Row {
  readonly name: string;
  readonly from: SupervisedState;
  readonly over?: Partial<Supervision>;
  readonly event: SupervisorEvent;
  readonly now?: number;
  readonly to: Partial<SupervisedState> | Record<string, unknown>;
  readonly effects: readonly string[];
}

const rows: readonly Row[] = [
  {
    name: "prepared leads to a launch",
    from: preparing,
    event: { kind: "prepared" },
    to: launching,
    effects: ["launch"],
  },
  {
    name: "a preparation that may go better is repeated for ever",
    from: preparing,
    over: { refusals: 99 },
    event: { kind: "prepareFailed", end },
    to: { kind: "backoff", retryAt: 60_000, phase: "preparing" },
    effects: [],
  },
  {
    name: "a preparation that cannot succeed fails at once",
    from: preparing,
    event: { kind: "prepareFailed", end: hopeless },
    to: { kind: "failed", reason: "missing library" },
    effects: [],
  },
  {
    name: "a spawned engine has until the start timeout",
    from: launching,
    event: { kind: "spawned", process, endpoint },
    now: 100,
    to: { kind: "starting", deadline: 15_100 },
    effects: [],
  },
  {
    name: "a spawn that failed is repeated",
    from: launching,
    event: { kind: "spawnFailed", end },
    to: { kind: "backoff", retryAt: 1000 },
    effects: ["forget"],
  },
  {
    name: "a spawn that the machine refuses is repeated for ever: no engine has failed",
    from: launching,
    over: { refusals: 99, failures: 2 },
    event: { kind: "spawnFailed", end: waits },
    to: { kind: "backoff", retryAt: 60_000, phase: "starting" },
    effects: ["forget"],
  },
  {
    name: "a spawn that cannot succeed fails at once",
    from: launching,
    event: { kind: "spawnFailed", end: hopeless },
    to: { kind: "failed", reason: "missing library" },
    effects: ["forget"],
  },
  {
    name: "a probe's answer is remembered",
    from: starting,
    event: { kind: "notYet", note: "loading" },
    to: { kind: "starting", note: "loading" },
    effects: [],
  },
  {
    name: "a proof makes it ready",
    from: starting,
    event: { kind: "proven", capacity },
    now: 7,
    to: { kind: "ready", since: 7, capacity },
    effects: [],
  },
  {
    name: "B35 a ready engine that does not answer stays ready",
    from: { ...ready, unanswered: 90 },
    event: { kind: "unanswered" },
    to: { kind: "ready", unanswered: 91 },
    effects: [],
  },
  {
    name: "an answer clears what was missed",
    from: { ...ready, unanswered: 9 },
    event: { kind: "answered" },
    to: { kind: "ready", unanswered: 0 },
    effects: [],
  },
  {
    name: "a crash while starting is repeated",
    from: starting,
    event: exited(),
    to: { kind: "backoff", retryAt: 1000 },
    effects: ["forget"],
  },
  {
    name: "an exit that cannot go better next time fails at once",
    from: starting,
    event: exited({ end: hopeless }),
    to: { kind: "failed", reason: "missing library", lastLines: ["last words"] },
    effects: ["forget"],
  },
  {
    name: "the last attempt that never became ready is the last",
    from: starting,
    over: { failures: 2 },
    event: exited(),
    to: { kind: "failed" },
    effects: ["forget"],
  },
  {
    name: "what was ready once is tried again, whatever its exit says",
    from: ready,
    over: { failures: 9 },
    event: exited({ end: hopeless }),
    now: 10,
    to: { kind: "backoff", retryAt: 60_010 },
    effects: ["forget"],
  },
  {
    name: "B40 workers that outlive the engine are ended first",
    from: ready,
    event: exited({ leftovers: true }),
    now: 100,
    to: { kind: "stopping", killAt: 2100 },
    effects: ["SIGKILL"],
  },
  {
    name: "B33 a start that takes too long is ended",
    from: starting,
    event: { kind: "tick" },
    now: 15_000,
    to: { kind: "stopping", killAt: 20_000 },
    effects: ["SIGTERM"],
  },
  {
    name: "B33 and begins again only when its process is gone",
    from: ending,
    event: exited(),
    to: { kind: "backoff" },
    effects: ["forget"],
  },
  {
    name: "a stop asks politely first",
    from: ready,
    event: { kind: "stopRequested" },
    now: 10,
    to: { kind: "stopping", killAt: 5010 },
    effects: ["SIGTERM"],
  },
  {
    name: "a stop is not yet due to be forced",
    from: stopping,
    event: { kind: "tick" },
    now: 4999,
    to: stopping,
    effects: [],
  },
  {
    name: "B39 an overdue stop is forced, and stays stopping",
    from: stopping,
    event: { kind: "tick" },
    now: 5000,
    to: { kind: "stopping", killAt: 7000 },
    effects: ["SIGKILL"],
  },
  {
    name: "B39 and forced again while it is still there",
    from: { ...stopping, killAt: millis(7000) },
    event: { kind: "tick" },
    now: 7000,
    to: { kind: "stopping", killAt: 9000 },
    effects: ["SIGKILL"],
  },
  {
    name: "B19 memory that is still held is said so, and holds the stop up",
    from: stopping,
    event: { kind: "stillHeld", note: "GPU memory still held by pid 9" },
    to: { kind: "stopping", note: "GPU memory still held by pid 9" },
    effects: [],
  },
  {
    name: "an engine that hangs is ended for a new start, politely first",
    from: ready,
    event: { kind: "hung", reason: "hung: it has work" },
    now: 90_000,
    to: { kind: "stopping", outcome: { kind: "failure", attempt: { served: 90_000 } } },
    effects: ["SIGTERM"],
  },
  {
    name: "an engine that starts has its own deadline, and cannot hang",
    from: starting,
    event: { kind: "hung", reason: "hung" },
    to: { kind: "starting" },
    effects: [],
  },
  {
    name: "B40 a stop lasts until the last process is gone",
    from: stopping,
    event: exited({ leftovers: true }),
    to: stopping,
    effects: [],
  },
  { name: "a proven exit ends a stop", from: stopping, event: exited(), to: stopped, effects: ["forget"] },
  {
    name: "a stop during an end that meant a new start means no new start",
    from: ending,
    event: { kind: "stopRequested" },
    to: { kind: "stopping", outcome: { kind: "stopped" } },
    effects: [],
  },
  {
    name: "a stop while preparing lets go of it",
    from: preparing,
    event: { kind: "stopRequested" },
    to: abandoning,
    effects: ["abandon"],
  },
  {
    name: "an abandoned preparation ends stopped",
    from: abandoning,
    event: { kind: "prepareFailed", end },
    to: stopped,
    effects: [],
  },
  {
    name: "an abandoned preparation that succeeds starts nothing",
    from: abandoning,
    event: { kind: "prepared" },
    to: stopped,
    effects: [],
  },
  {
    name: "an abandoned launch that came to be is stopped",
    from: abandoning,
    event: { kind: "spawned", process, endpoint },
    to: { kind: "stopping" },
    effects: ["SIGTERM"],
  },
  {
    name: "an abandoned launch that failed leaves no record",
    from: abandoning,
    event: { kind: "spawnFailed", end },
    to: stopped,
    effects: ["forget"],
  },
  {
    name: "a stop while waiting for the next try",
    from: backoff,
    event: { kind: "stopRequested" },
    to: stopped,
    effects: [],
  },
  { name: "a stop of what failed", from: failed, event: { kind: "stopRequested" }, to: stopped, effects: [] },
  {
    name: "the next try begins when it is due",
    from: backoff,
    event: { kind: "tick" },
    now: 1000,
    to: preparing,
    effects: ["prepare"],
  },
  { name: "and not before", from: backoff, event: { kind: "tick" }, now: 999, to: backoff, effects: [] },
  { name: "failed is left by no tick", from: failed, event: { kind: "tick" }, now: 1e9, to: failed, effects: [] },
  { name: "a late exit of what is stopped changes nothing", from: stopped, event: exited(), to: stopped, effects: [] },
];

test.each(rows)("$name", ({ from, over, event, now, to, effects }) => {
  const { next, effects: got } = run(supervision(from, over), event, now);
  expect(next.state).toMatchObject(to);
  expect(got.map(shown)).toEqual(effects);
});

describe("counts", () => {
  test("a crash after serving for long begins a new count", () => {
    const { next } = run(supervision(ready, { failures: 2, launches: 1 }), exited(), 60_000);
    expect(next).toMatchObject({ failures: 1, lastEnd: "it crashed", state: { kind: "backoff", retryAt: 61_000 } });
  });

  test("a crash right after becoming ready counts on", () => {
    expect(run(supervision(ready, { failures: 2 }), exited(), 59_999).next.failures).toBe(3);
  });

  test("what could not be started at all does not count among the ends of engines", () => {
    const refused = run(supervision(launching, { failures: 2 }), { kind: "spawnFailed", end: waits }).next;
    expect(refused).toMatchObject({ failures: 2, refusals: 1, lastEnd: "no space" });
    const spawned = run({ ...refused, state: launching }, { kind: "spawned", process, endpoint }).next;
    expect(spawned).toMatchObject({ failures: 2, refusals: 0, launches: 1 });
  });

  test("served time survives the wait for leftovers", () => {
    const first = run(supervision(ready, { failures: 2 }), exited({ leftovers: true, end: hopeless }), 61_000).next;
    expect(run(first, exited(), 62_000).next).toMatchObject({ failures: 1, state: { kind: "backoff" } });
  });

  test("the start timeout says how long it was and what was missing", () => {
    const { next } = run(supervision({ ...starting, note: "503 Loading model" }), { kind: "tick" }, 15_000);
    const { next: ended } = run(next, exited(), 16_000);
    expect(ended.lastEnd).toBe(
      "start-timeout: not ready within 15s; at the end: 503 Loading model. Raise start_timeout if it only needs longer",
    );
  });
});
