import type { Chance } from "./chance.ts";

/** Something that takes input from outside. */
export interface Target {
  readonly name: string;
  /** Cases that run at once. 1 for what answers in the same turn. */
  readonly atOnce: number;
  open(): Promise<OpenTarget>;
}

export interface OpenTarget {
  /** Makes one input and gives it to the target. Rejects or throws when the answer is none that may be given. */
  once(chance: Chance): Promise<void> | void;
  /** Rejects unless what serves still serves those who ask well. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** For what is a function of its input: there is nothing to open, and nothing that could be left broken. */
export const pureTarget = (name: string, once: (chance: Chance) => void): Target => ({
  name,
  atOnce: 1,
  open: () => Promise.resolve({ once, check: () => Promise.resolve(), close: () => Promise.resolve() }),
});
