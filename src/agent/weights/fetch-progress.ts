import { bytes } from "../../core/ids.ts";
import type { Progress } from "../../core/replica-state.ts";

interface One {
  readonly done: number;
  readonly total: number;
  readonly bytesPerSecond: number;
}

/** Adds up the progress of several files into one line for people. */
export interface FetchProgress {
  report(name: string, progress: One): void;
}

export function createFetchProgress(
  what: string,
  files: readonly { readonly name: string; readonly bytes: number }[],
  onProgress: (progress: Progress) => void,
): FetchProgress {
  const all = new Map<string, One>(
    files.map(({ name, bytes: size }) => [name, { done: 0, total: size, bytesPerSecond: 0 }]),
  );
  return {
    report(name, progress) {
      const known = all.get(name)?.total ?? 0;
      all.set(name, { ...progress, total: progress.total === 0 ? known : progress.total });
      const each = [...all.values()];
      const sum = (read: (one: One) => number): number => each.reduce((total, one) => total + read(one), 0);
      onProgress({
        what,
        bytesDone: bytes(sum((one) => one.done)),
        // A total that leaves files out would promise an end that is none.
        bytesTotal: bytes(each.every((one) => one.total > 0) ? sum((one) => one.total) : 0),
        bytesPerSecond: sum((one) => (one.done < one.total || one.total === 0 ? one.bytesPerSecond : 0)),
      });
    },
  };
}
