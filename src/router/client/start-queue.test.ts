import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Millis, millis } from "../../core/ids.ts";
import { systemClock } from "../../platform/clock.ts";
import { StartQueue } from "./start-queue.ts";

/** How many of so many have started after each turn of the event loop, until all have. */
async function startedBy(turn: { readonly streams: number; readonly waiting: number; readonly late?: boolean }) {
  let now: Millis = millis(0);
  const queue = new StartQueue({ ...systemClock, monotonic: () => now });
  queue.streams = turn.streams;
  const started: number[] = [];
  for (let at = 0; at < turn.waiting; at++) queue.add(() => started.push(at));
  if (turn.late === true) now = millis(51);
  const after: number[] = [started.length];
  while (started.length < turn.waiting) {
    await nextTurn();
    after.push(started.length);
  }
  expect(started).toEqual(Array.from({ length: turn.waiting }, (_, at) => at));
  return after;
}

test.each([
  { name: "one where streams are many", streams: 200, waiting: 3, after: [0, 1, 2, 3] },
  {
    name: "as many as there are for each stream",
    streams: 4,
    waiting: 20,
    after: [0, 5, 9, 12, 14, 16, 17, 18, 19, 20],
  },
  { name: "all, beside a single stream", streams: 1, waiting: 20, after: [0, 20] },
  { name: "all, when no stream runs any more", streams: 0, waiting: 20, after: [0, 20] },
  { name: "all, behind one that has waited long", streams: 200, waiting: 20, late: true, after: [0, 20] },
])("in a turn start $name", async ({ after, ...turn }) => {
  expect(await startedBy(turn)).toEqual(after);
});

test("whoever comes while others start is behind those who wait", async () => {
  const queue = new StartQueue(systemClock);
  queue.streams = 9;
  const started: string[] = [];
  queue.add(() => {
    started.push("first");
    queue.add(() => started.push("third"));
  });
  queue.add(() => started.push("second"));
  for (let turn = 0; turn < 4; turn++) await nextTurn();
  expect(started).toEqual(["first", "second", "third"]);
});

test("nobody has to wait where no stream runs", () => {
  const queue = new StartQueue(systemClock);
  expect(queue.isHeldUp).toBe(false);
  queue.streams = 1;
  expect(queue.isHeldUp).toBe(true);
});
