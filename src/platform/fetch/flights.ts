import { resolve } from "node:path";
import { err, type Result } from "../../core/result.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import type { FetchedFile, FileJob, FileProgress, FileRequest } from "./fetch-file.ts";

interface Flight {
  readonly request: FileRequest;
  readonly outcome: Promise<Result<FetchedFile, FetchFailure>>;
  readonly abort: AbortController;
  readonly listeners: Set<(progress: FileProgress) => void>;
  passengers: number;
}

type Fetch = (job: FileJob) => Promise<Result<FetchedFile, FetchFailure>>;

/**
 * One download of a target at a time, whoever asks: those who want the same join it, others wait until it has ended. It is
 * stopped when the last of those who wait for it has given up.
 */
export function createFlights(fetch: Fetch): (request: FileRequest) => Promise<Result<FetchedFile, FetchFailure>> {
  const flights = new Map<string, Flight>();

  const start = (request: FileRequest): Flight => {
    const abort = new AbortController();
    const listeners = new Set<(progress: FileProgress) => void>();
    const onProgress = (progress: FileProgress): void => {
      for (const listener of listeners) listener(progress);
    };
    const outcome = fetch({ request, signal: abort.signal, onProgress }).finally(() => {
      flights.delete(request.target);
    });
    const flight = { request, outcome, abort, listeners, passengers: 0 };
    flights.set(request.target, flight);
    return flight;
  };

  return async (asked) => {
    const request = { ...asked, target: resolve(asked.target) };
    for (let running = flights.get(request.target); running !== undefined; running = flights.get(request.target)) {
      if (isSame(running.request, request) && !running.abort.signal.aborted) return await board(running, request);
      await Promise.allSettled([running.outcome]);
    }
    return await board(start(request), request);
  };
}

const isSame = (a: FileRequest, b: FileRequest): boolean => a.url === b.url && a.sha256 === b.sha256;

async function board(flight: Flight, request: FileRequest): Promise<Result<FetchedFile, FetchFailure>> {
  const { signal, onProgress } = request;
  if (onProgress !== undefined) flight.listeners.add(onProgress);
  flight.passengers += 1;
  const leaving = whenAborted(signal);
  try {
    return await Promise.race([flight.outcome, leaving.aborted.then(() => left(request))]);
  } finally {
    leaving.forget();
    if (onProgress !== undefined) flight.listeners.delete(onProgress);
    flight.passengers -= 1;
    if (flight.passengers === 0) {
      flight.abort.abort();
      // Whoever was the last waits until the part file is let go, so that a new try at once can go on from it.
      await Promise.allSettled([flight.outcome]);
    }
  }
}

const left = (request: FileRequest): Result<FetchedFile, FetchFailure> =>
  err({ kind: "aborted", message: `fetching ${shownUrl(request.url)} was stopped` });

function whenAborted(signal: AbortSignal | undefined): { readonly aborted: Promise<void>; forget(): void } {
  let onAbort = (): void => undefined;
  const aborted = new Promise<void>((done) => {
    onAbort = done;
    if (signal?.aborted === true) done();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
  return {
    aborted,
    forget() {
      signal?.removeEventListener("abort", onAbort);
    },
  };
}
