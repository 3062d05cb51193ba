import type { Progress } from "../../core/replica-state.ts";
import { err, type Result } from "../../core/result.ts";
import type { InstallRequest } from "./context.ts";
import { ABORTED, type InstallFailure } from "./failure.ts";

type Work<T> = (request: InstallRequest) => Promise<Result<T, InstallFailure>>;

interface Flight<T> {
  readonly result: Promise<Result<T, InstallFailure>>;
  readonly passengers: Set<InstallRequest>;
  readonly stop: AbortController;
  last: Progress | undefined;
}

/**
 * Runs work once for everybody who asks for the same at the same time. Progress goes to all; who aborts leaves at once, and
 * when all have left the work is aborted too.
 */
export function createSharing<T>(): (
  key: string,
  request: InstallRequest,
  work: Work<T>,
) => Promise<Result<T, InstallFailure>> {
  const flights = new Map<string, Flight<T>>();
  return (key, request, work) => {
    if (request.signal.aborted) return Promise.resolve(err(ABORTED));
    const flight = flights.get(key) ?? begin(work);
    flights.set(key, flight);
    // The next to ask begins anew, and does not get the end of what is being aborted.
    const forget = (): void => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.result.then(forget, forget);
    return join(flight, request, forget);
  };
}

function begin<T>(work: Work<T>): Flight<T> {
  const passengers = new Set<InstallRequest>();
  const stop = new AbortController();
  const started: { flight?: Flight<T> } = {};
  const onProgress = (progress: Progress): void => {
    if (started.flight !== undefined) started.flight.last = progress;
    for (const passenger of passengers) passenger.onProgress(progress);
  };
  const flight = { result: work({ onProgress, signal: stop.signal }), passengers, stop, last: undefined };
  started.flight = flight;
  return flight;
}

async function join<T>(
  flight: Flight<T>,
  request: InstallRequest,
  onEmpty: () => void,
): Promise<Result<T, InstallFailure>> {
  flight.passengers.add(request);
  if (flight.last !== undefined) request.onProgress(flight.last);
  const left = Promise.withResolvers<Result<T, InstallFailure>>();
  const leave = (): void => {
    left.resolve(err(ABORTED));
  };
  request.signal.addEventListener("abort", leave);
  try {
    return await Promise.race([flight.result, left.promise]);
  } finally {
    request.signal.removeEventListener("abort", leave);
    flight.passengers.delete(request);
    if (flight.passengers.size === 0) {
      onEmpty();
      flight.stop.abort();
    }
  }
}
