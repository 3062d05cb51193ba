import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Outcome } from "./simulate.ts";

/** An outcome as it comes from another thread: its trace may be empty. */
export type Played = Outcome;

const THREAD = new URL("seed-thread.ts", import.meta.url);

/** Plays every seed, on as many threads as there are cores. Calls back with each as it ends, in whatever order. */
export async function playSeeds(seeds: readonly number[], onPlayed: (played: Played) => void): Promise<void> {
  const left = [...seeds];
  const count = Math.min(seeds.length, availableParallelism());
  await Promise.all(Array.from({ length: count }, () => playOnThread(left, onPlayed)));
}

async function playOnThread(left: number[], onPlayed: (played: Played) => void): Promise<void> {
  const thread = new Worker(THREAD, { execArgv: ["--disable-warning=ExperimentalWarning"] });
  try {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) onPlayed(await playedOn(thread, seed));
  } finally {
    await thread.terminate();
  }
}

function playedOn(thread: Worker, seed: number): Promise<Played> {
  return new Promise((resolve, reject) => {
    const failed = (error: unknown): void => {
      reject(new Error(`seed ${String(seed)} could not be played to its end`, { cause: error }));
    };
    thread.once("error", failed);
    thread.once("message", (played: Played) => {
      thread.off("error", failed);
      resolve(played);
    });
    thread.postMessage(seed);
  });
}
