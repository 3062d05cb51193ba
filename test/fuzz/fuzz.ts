import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { messageOf } from "../../src/core/errors.ts";
import { textTable } from "../text-table.ts";
import { Chance } from "./chance.ts";
import type { OpenTarget, Target } from "./target.ts";

const MiB = 2 ** 20;
/**
 * How far the process may grow over what it had when the target was open. The largest inputs have 34 MiB; two at once lie in
 * memory several times: as they are made, as they are sent, as they come in, and put together.
 */
const MAX_GROWTH = 768 * MiB;
/** How much more may be held when everything that nobody holds has been collected: caches fill. */
const MAX_HELD = 192 * MiB;
const MOST_LOOKS = 20;
const BETWEEN_LOOKS_MS = 100;
const CASES_BETWEEN_CHECKS = 64;
/** Of the processor, whatever else runs on the machine. No input is long: who needs so much for one is lost in it. */
const SLOW_CASE_MS = 5_000;
const KEPT_FAULTS = 10;

export interface FuzzOptions {
  readonly target: Target;
  readonly seed: number;
  readonly durationMs: number;
  /** Only this one case, to see it again. */
  readonly only?: number;
}

export interface FuzzResult {
  readonly target: string;
  readonly seed: number;
  readonly cases: number;
  readonly seconds: number;
  readonly startMiB: number;
  readonly peakMiB: number;
  /** The most that was held after a collection, in heaps and buffers. */
  readonly heldMiB: number;
  /** Each with the number of its case. */
  readonly faults: readonly string[];
}

/** Each case has a seed of its own, so that one can be run again without those before. */
const caseSeed = (seed: number, number: number): number =>
  (Math.imul(seed, 0x9e3779b1) + Math.imul(number, 0x85ebca6b)) | 0;

/** Gives a target one input after another until the time is over, and watches the process meanwhile. */
export async function fuzz({ target, seed, durationMs, only }: FuzzOptions): Promise<FuzzResult> {
  const faults: string[] = [];
  const fault = (words: string): void => {
    if (faults.length < KEPT_FAULTS) faults.push(words);
  };
  const current = { number: 0 };
  const escaped = (kind: string) => (error: unknown) => {
    fault(`${kind} at about case ${String(current.number)}: ${stackOf(error)}`);
  };
  const [rejected, thrown] = [escaped("unhandled rejection"), escaped("uncaught exception")];
  process.on("unhandledRejection", rejected);
  process.on("uncaughtException", thrown);
  const open = await target.open();
  const memory = new Memory();
  const started = performance.now();
  const isOver = (): boolean => performance.now() - started >= durationMs || faults.length >= KEPT_FAULTS;
  let cases = 0;
  try {
    do {
      const numbers = only === undefined ? range(cases, CASES_BETWEEN_CHECKS) : [only];
      cases += await runBatch({ open, numbers, seed, atOnce: target.atOnce, isOver, current, memory, fault });
      await open.check().catch((error: unknown) => {
        fault(`after case ${String(numbers.at(-1))} it serves nobody any more: ${stackOf(error)}`);
      });
      await memory.collect();
      // What was thrown in a callback is told between turns.
      await nextTurn();
    } while (only === undefined && !isOver());
  } finally {
    await open.close();
    await nextTurn();
    process.off("unhandledRejection", rejected);
    process.off("uncaughtException", thrown);
  }
  const tooMuch = memory.fault();
  if (tooMuch !== undefined) fault(tooMuch);
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  return { target: target.name, seed, cases, seconds, ...memory.inMiB(), faults };
}

interface Batch {
  readonly open: OpenTarget;
  readonly numbers: readonly number[];
  readonly seed: number;
  readonly atOnce: number;
  readonly isOver: () => boolean;
  readonly current: { number: number };
  readonly memory: Memory;
  readonly fault: (words: string) => void;
}

/** Answers how many cases were run. */
async function runBatch({ open, numbers, seed, atOnce, isOver, current, memory, fault }: Batch): Promise<number> {
  const left = [...numbers];
  let done = 0;
  const work = async (): Promise<void> => {
    for (;;) {
      const number = left.shift();
      if (number === undefined || (done > 0 && isOver())) return;
      current.number = number;
      done += 1;
      const began = process.cpuUsage();
      try {
        await open.once(new Chance(caseSeed(seed, number)));
      } catch (error) {
        fault(`case ${String(number)}: ${stackOf(error)}`);
      }
      memory.look();
      const { user, system } = process.cpuUsage(began);
      const took = (user + system) / 1000;
      if (atOnce === 1 && took > SLOW_CASE_MS) fault(`case ${String(number)} took ${String(Math.round(took))} ms`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return done;
}

// Started without the flag, a process can still be given what it names.
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** What is held. Memory that the process has and holds nothing in is not: how much that is depends on when it was tidied up. */
function heldNow(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

class Memory {
  readonly #start: number;
  readonly #heldAtStart: number;
  #peak: number;
  #held: number;

  constructor() {
    this.#heldAtStart = heldNow();
    this.#start = process.memoryUsage.rss();
    this.#peak = this.#start;
    this.#held = this.#heldAtStart;
  }

  look(): void {
    this.#peak = Math.max(this.#peak, process.memoryUsage.rss());
  }

  /**
   * Looks again at what is left when nobody's is collected: that alone can grow without end. Buffers are given back some time
   * after their collection, and a connection lets go of an input of many MiB some time after its answer.
   */
  async collect(): Promise<void> {
    this.look();
    const mayHold = this.#heldAtStart + MAX_HELD;
    let now = heldNow();
    for (let looks = 1; now > mayHold && looks < MOST_LOOKS; looks++) {
      await sleep(BETWEEN_LOOKS_MS);
      now = heldNow();
    }
    this.#held = Math.max(this.#held, now);
  }

  /** What was too much, in words. */
  fault(): string | undefined {
    if (this.#held - this.#heldAtStart > MAX_HELD) {
      return `what is held grew from ${inMiB(this.#heldAtStart)} to ${inMiB(this.#held)}`;
    }
    const grown = `memory grew from ${inMiB(this.#start)} to ${inMiB(this.#peak)}`;
    return this.#peak - this.#start > MAX_GROWTH ? grown : undefined;
  }

  inMiB(): Pick<FuzzResult, "startMiB" | "peakMiB" | "heldMiB"> {
    const [startMiB = 0, peakMiB = 0, heldMiB = 0] = [this.#start, this.#peak, this.#held].map((bytes) =>
      Math.round(bytes / MiB),
    );
    return { startMiB, peakMiB, heldMiB };
  }
}

const range = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, n) => from + n);
const inMiB = (bytes: number): string => `${String(Math.round(bytes / MiB))} MiB`;

function stackOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  return stack.includes(messageOf(error)) ? stack.split("\n").slice(0, 6).join(" | ") : messageOf(error);
}

/** What `npm run test:fuzz` shows at its end. */
export function fuzzTable(results: readonly FuzzResult[]): string {
  const rows = results.map(({ target, seed, cases, seconds, startMiB, peakMiB, heldMiB, faults }) =>
    [target, cases, seconds, seed, startMiB, peakMiB, heldMiB, faults.length === 0 ? "none" : faults.length].map(
      String,
    ),
  );
  const table = [["target", "cases", "seconds", "seed", "MiB at first", "at most", "held", "faults"], ...rows];
  const faults = results.flatMap(({ target, seed, faults: found }) =>
    found.map((words) => `${target}, seed ${String(seed)}, ${words}`),
  );
  return [textTable(table), ...(faults.length === 0 ? [] : ["", ...faults])].join("\n");
}
