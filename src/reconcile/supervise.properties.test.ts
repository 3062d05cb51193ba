import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Millis, millis } from "../core/ids.ts";
import { step, type SupervisorPolicy } from "./supervise.ts";
import { type Effect, newSupervision, type Supervision, type SupervisorEvent, wakeAt } from "./supervision.ts";

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
const hopeless = { reason: "missing library", retry: false };

const exited = (over: Partial<Extract<SupervisorEvent, { kind: "exited" }>> = {}): SupervisorEvent => ({
  kind: "exited",
  end,
  lastLines: ["last words"],
  leftovers: false,
  ...over,
});
const run = (before: Supervision, event: SupervisorEvent, now = 0) =>
  step(before, event, { now: millis(now), random: () => 1, policy });
const shown = (effect: Effect): string => (effect.kind === "signal" ? effect.signal : effect.kind);

const events: readonly SupervisorEvent[] = [
  { kind: "progressed", progress: { what: "x", bytesDone: 0, bytesTotal: 0, bytesPerSecond: 0 } as never },
  { kind: "prepared" },
  { kind: "prepareFailed", end },
  { kind: "prepareFailed", end: hopeless },
  { kind: "spawned", process, endpoint },
  { kind: "spawnFailed", end },
  { kind: "spawnFailed", end: { ...end, waits: true } },
  { kind: "notYet", note: "n" },
  { kind: "proven", capacity },
  { kind: "answered" },
  { kind: "unanswered" },
  exited(),
  exited({ end: hopeless }),
  exited({ leftovers: true }),
  { kind: "stopRequested" },
  { kind: "tick" },
];

describe("whatever happens in whatever order", () => {
  const story = fc.array(fc.record({ event: fc.constantFrom(...events), wait: fc.nat(20_000) }), { maxLength: 60 });

  /** Plays events and reports what holds between one state and the next. */
  function play(
    steps: readonly { event: SupervisorEvent; wait: number }[],
    look: (before: Supervision, after: ReturnType<typeof step>) => void,
  ): void {
    let now = 0;
    let current = newSupervision;
    for (const { event, wait } of steps) {
      now += wait;
      const after = run(current, event, now);
      look(current, after);
      current = after.next;
    }
  }

  test("only a proven exit lets go of a process", () => {
    fc.assert(
      fc.property(story, (steps) => {
        play(steps, (before, { next, effects }) => {
          const had = "process" in before.state;
          if (had && !("process" in next.state)) expect(effects.map(shown)).toEqual(["forget"]);
          if (effects.some((effect) => effect.kind === "launch")) expect(had).toBe(false);
        });
      }),
    );
  });

  test("a stop, an exit and time always end in stopped", () => {
    fc.assert(
      fc.property(story, (steps) => {
        let last: Supervision = newSupervision;
        play(steps, (_, { next }) => {
          last = next;
        });
        last = run(last, { kind: "stopRequested" }, 1e7).next;
        last = run(last, { kind: "prepareFailed", end }, 1e7).next;
        last = run(last, exited(), 1e7).next;
        expect(last.state.kind).toBe("stopped");
      }),
    );
  });

  test("every state that waits for time says until when", () => {
    fc.assert(
      fc.property(story, (steps) => {
        play(steps, (_, { next }) => {
          const due: Millis | undefined = wakeAt(next.state);
          expect(due === undefined).toBe(!["starting", "stopping", "backoff"].includes(next.state.kind));
        });
      }),
    );
  });
});
