import { expect, test } from "vitest";
import { bytes } from "../../core/ids.ts";
import type { Progress } from "../../core/replica-state.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { InstallRequest } from "./context.ts";
import { ABORTED, type InstallFailure } from "./failure.ts";
import { createSharing } from "./sharing.ts";

type Outcome = Result<number, InstallFailure>;

/** Work that ends when it is told to, or when it is aborted. */
function work() {
  const runs: { readonly request: InstallRequest; readonly finish: (outcome: Outcome) => void }[] = [];
  const run = (request: InstallRequest): Promise<Outcome> =>
    new Promise((resolve) => {
      runs.push({ request, finish: resolve });
      request.signal.addEventListener("abort", () => {
        resolve(err(ABORTED));
      });
    });
  return { run, runs };
}

const passenger = () => {
  const stop = new AbortController();
  const seen: Progress[] = [];
  return { stop, seen, request: { onProgress: (progress: Progress) => seen.push(progress), signal: stop.signal } };
};
const progress: Progress = { what: "x", bytesDone: bytes(1), bytesTotal: bytes(2), bytesPerSecond: 0 };

test("everybody gets the one result, and progress from where they came in", async () => {
  const sharing = createSharing<number>();
  const { run, runs } = work();
  const [a, b] = [passenger(), passenger()];
  const first = sharing("k", a.request, run);
  runs[0]?.request.onProgress(progress);
  const second = sharing("k", b.request, run);
  runs[0]?.finish(ok(7));
  expect(await Promise.all([first, second])).toEqual([ok(7), ok(7)]);
  expect(runs.length).toBe(1);
  expect([a.seen, b.seen]).toEqual([[progress], [progress]]);
});

test("who leaves does not stop the others; when the last one has left the work is aborted", async () => {
  const sharing = createSharing<number>();
  const { run, runs } = work();
  const [a, b] = [passenger(), passenger()];
  const first = sharing("k", a.request, run);
  const second = sharing("k", b.request, run);
  a.stop.abort();
  expect(await first).toEqual(err(ABORTED));
  expect(runs[0]?.request.signal.aborted).toBe(false);
  b.stop.abort();
  expect(await second).toEqual(err(ABORTED));
  expect(runs[0]?.request.signal.aborted).toBe(true);
});

test("after the end, and after an abort, the next one begins anew", async () => {
  const sharing = createSharing<number>();
  const { run, runs } = work();
  const a = passenger();
  const aborted = sharing("k", a.request, run);
  a.stop.abort();
  await aborted;
  const second = sharing("k", passenger().request, run);
  runs[1]?.finish(ok(2));
  expect(await second).toEqual(ok(2));
  const third = sharing("k", passenger().request, run);
  runs[2]?.finish(ok(3));
  expect(await third).toEqual(ok(3));
});

test("what is not the same is not shared, and who is too late begins nothing", async () => {
  const sharing = createSharing<number>();
  const { run, runs } = work();
  void sharing("k", passenger().request, run);
  void sharing("other", passenger().request, run);
  expect(runs.length).toBe(2);
  const late = passenger();
  late.stop.abort();
  expect(await sharing("late", late.request, run)).toEqual(err(ABORTED));
  expect(runs.length).toBe(2);
});
