import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { freshMemory, judgeWork, type WorkLook, type WorkVerdict } from "./hang.ts";

const policy = { slowAfter: millis(30), proveAfter: millis(300), hungAfter: millis(600) };
const counted = (requests: number, done: number): WorkLook => ({ kind: "counted", requests, done });
const silent: WorkLook = { kind: "silent" };
const worked: WorkLook = { kind: "worked" };
const workLost: WorkLook = { kind: "workLost" };

/** Looks at the given times; answers the last verdict. */
function after(...looks: readonly (readonly [number, WorkLook])[]): WorkVerdict["kind"] {
  let memory = freshMemory(millis(0));
  let kind: WorkVerdict["kind"] = "fine";
  for (const [now, look] of looks) {
    const judged = judgeWork(memory, look, { now: millis(now), policy });
    memory = judged.memory;
    kind = judged.verdict.kind;
  }
  return kind;
}

describe("an engine", () => {
  test.each<{ name: string; looks: readonly (readonly [number, WorkLook])[]; want: WorkVerdict["kind"] }>([
    {
      name: "that has nothing to do is fine for ever",
      looks: [
        [0, counted(0, 5)],
        [9999, counted(0, 5)],
      ],
      want: "fine",
    },
    {
      name: "whose counters grow is fine",
      looks: [
        [0, counted(1, 5)],
        [9999, counted(1, 6)],
      ],
      want: "fine",
    },
    {
      name: "that just got its work is fine",
      looks: [
        [0, counted(0, 5)],
        [700, counted(0, 5)],
        [710, counted(1, 5)],
      ],
      want: "fine",
    },
    {
      name: "whose work stands still is slow first",
      looks: [
        [0, counted(1, 5)],
        [40, counted(1, 5)],
      ],
      want: "slow",
    },
    {
      name: "whose work stands still for too long is hung",
      looks: [
        [0, counted(1, 5)],
        [599, counted(1, 5)],
        [601, counted(1, 5)],
      ],
      want: "hung",
    },
    {
      name: "that moved in between is not",
      looks: [
        [0, counted(1, 5)],
        [500, counted(1, 6)],
        [601, counted(1, 6)],
      ],
      want: "slow",
    },
    {
      name: "whose counters began anew is fine",
      looks: [
        [0, counted(1, 50)],
        [700, counted(1, 5)],
      ],
      want: "fine",
    },
    {
      name: "that went silent with work is hung in the end",
      looks: [
        [0, counted(1, 5)],
        [100, silent],
        [601, silent],
      ],
      want: "hung",
    },
    {
      name: "that went silent without known work is asked to prove itself",
      looks: [
        [0, counted(0, 5)],
        [301, silent],
      ],
      want: "prove",
    },
    {
      name: "that went silent without known work is never hung by that alone",
      looks: [
        [0, counted(0, 5)],
        [9999, silent],
      ],
      want: "prove",
    },
    {
      name: "that proved itself is fine",
      looks: [
        [0, silent],
        [301, silent],
        [310, worked],
      ],
      want: "fine",
    },
    {
      name: "that lost the work it was given is hung",
      looks: [
        [0, silent],
        [301, silent],
        [601, workLost],
      ],
      want: "hung",
    },
    {
      name: "that lost the work too early is only slow yet",
      looks: [
        [0, silent],
        [301, silent],
        [400, workLost],
      ],
      want: "slow",
    },
    {
      name: "B35 that is silent for 40 s in a long prefill is slow",
      looks: [
        [0, counted(1, 5)],
        [40, silent],
      ],
      want: "slow",
    },
  ])("$name", ({ looks, want }) => {
    expect(after(...looks)).toBe(want);
  });

  test("is never hung without work, or while anything moves", () => {
    const look = fc.oneof(
      fc.constant(silent),
      fc.constant(worked),
      fc.nat(9).map((done) => counted(0, done)),
    );
    const steps = fc.array(fc.tuple(fc.nat(5000), look), { maxLength: 30 });
    fc.assert(
      fc.property(steps, (all) => {
        const inOrder = all.toSorted(([a], [b]) => a - b);
        expect(after(...inOrder)).not.toBe("hung");
      }),
    );
  });
});
