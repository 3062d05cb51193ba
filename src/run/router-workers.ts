import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { RouterConfig } from "../config/router.ts";
import { type ErrorCode, ERRORS, LlmgwError } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { startWorker, unsharedPort, type WorkerProcess } from "../platform/workers.ts";
import { afterWorkerEnd } from "../router/workers/restart.ts";
import { lastingSum, type MetricsJson, sumText } from "../router/workers/sum-metrics.ts";
import { listenError } from "./listen-error.ts";
import type { FromWorker, ToWorker, WorkerStart } from "./router-worker-talk.ts";

/** Compiled code has another ending than its source. */
const PROGRAM = fileURLToPath(new URL(`./router-worker${extname(import.meta.filename)}`, import.meta.url));
/** A worker that does not answer by then is left out of the sum. */
const REPORT_TIME = millis(5_000);
/** Beyond the time that requests have to end: what a worker needs to write down what it knows. */
const STOP_GRACE = millis(8_000);

export interface RouterWorkersOptions extends Omit<WorkerStart, "part"> {
  readonly config: RouterConfig;
  readonly logger: Logger;
  readonly clock: Clock;
}

type Report = Extract<FromWorker, { readonly kind: "report" }>;

/** One place among the workers, whichever process fills it at present. */
class Seat {
  readonly index: number;
  process: WorkerProcess | undefined;
  startedAt: Millis = millis(0);
  /** How often it has ended in a row. */
  row = 0;
  metrics: MetricsJson = [];
  /** Who waits for which report. */
  readonly waiting = new Map<number, (report: Report | undefined) => void>();

  constructor(index: number) {
    this.index = index;
  }

  send(order: ToWorker): void {
    this.process?.send(order);
  }
}

/** Several processes that are one router: started, started again when one ends, asked for their numbers, stopped. */
export class RouterWorkers {
  readonly #options: RouterWorkersOptions;
  readonly #seats: readonly Seat[];
  readonly #onEmpty = new Set<() => void>();
  #isStopping = false;
  #asked = 0;
  /** Of workers that are gone. */
  #past: MetricsJson = [];

  private constructor(options: RouterWorkersOptions) {
    this.#options = options;
    this.#seats = [...Array(options.config.workers).keys()].map((index) => new Seat(index));
  }

  /** Rejects, in words, when a worker cannot start; then none is left. */
  static async start(
    options: RouterWorkersOptions,
  ): Promise<{ readonly workers: RouterWorkers; readonly url: string }> {
    const { listen } = options.config;
    const port = await unsharedPort(listen).catch((error: unknown) => {
      throw listenError(error, listen, "listen");
    });
    const workers = new RouterWorkers({ ...options, config: { ...options.config, listen: { ...listen, port } } });
    try {
      const urls = await Promise.all(workers.#seats.map((seat) => workers.#fill(seat)));
      return { workers, url: urls[0] ?? "" };
    } catch (error) {
      await workers.stop();
      throw error;
    }
  }

  /** Resolves with the router's address when the worker serves. */
  #fill(seat: Seat): Promise<string> {
    const { clock, logger, config, stateDir, log } = this.#options;
    return new Promise((resolve, reject) => {
      seat.startedAt = clock.monotonic();
      const start: WorkerStart = { config, stateDir, log, part: { index: seat.index, count: this.#seats.length } };
      seat.process = startWorker(PROGRAM, {
        onMessage: (message) => {
          const said = message as FromWorker;
          if (said.kind === "ready-to-start") seat.send({ kind: "start", start });
          else if (said.kind === "started") resolve(said.url);
          else if (said.kind === "failed") reject(errorOf(said));
          else seat.waiting.get(said.asked)?.(said);
        },
        onExit: (how) => {
          seat.process = undefined;
          for (const giveUp of [...seat.waiting.values()]) giveUp(undefined);
          reject(new LlmgwError("FAILED", `worker ${String(seat.index)} of the router ended ${how} before it served`));
          void this.#ended(seat, how);
        },
      });
      logger.debug({ worker: seat.index, pid: seat.process.pid }, "worker started");
    });
  }

  async #ended(seat: Seat, how: string): Promise<void> {
    const { clock, logger } = this.#options;
    if (this.#seats.every(({ process }) => process === undefined)) for (const wake of this.#onEmpty) wake();
    if (this.#isStopping) return;
    const { row, delay } = afterWorkerEnd(seat.row, millis(clock.monotonic() - seat.startedAt));
    seat.row = row;
    logger.error({ worker: seat.index }, `a worker ended ${how}, and its requests with it; another takes its place`);
    clock.after(delay, () => {
      if (this.#isStopping) return;
      this.#fill(seat).catch((error: unknown) => {
        logger.error({ worker: seat.index, reason: LlmgwError.from(error).message }, "a worker could not be started");
      });
    });
    // What it had counted by the last time it was asked goes on counting.
    const { metrics } = seat;
    seat.metrics = [];
    this.#past = await lastingSum([this.#past, metrics]);
  }

  async metrics(): Promise<string> {
    await this.#reports();
    return sumText([this.#past, ...this.#seats.map(({ metrics }) => metrics)]);
  }

  /** Why no worker could answer a request; undefined: one could. */
  async notReady(): Promise<string | undefined> {
    const reports = await this.#reports();
    if (reports.some(({ notReady }) => notReady === "")) return undefined;
    return reports[0]?.notReady ?? "no worker answers";
  }

  async #reports(): Promise<readonly Report[]> {
    const reports = await Promise.all(this.#seats.map((seat) => this.#report(seat)));
    return reports.filter((report) => report !== undefined);
  }

  async #report(seat: Seat): Promise<Report | undefined> {
    if (seat.process === undefined) return undefined;
    this.#asked += 1;
    const asked = this.#asked;
    const report = await new Promise<Report | undefined>((resolve) => {
      const cancel = this.#options.clock.after(REPORT_TIME, () => {
        resolve(undefined);
      });
      seat.waiting.set(asked, (said) => {
        cancel();
        resolve(said);
      });
      seat.send({ kind: "report", asked });
    });
    seat.waiting.delete(asked);
    if (report !== undefined) seat.metrics = report.metrics;
    return report;
  }

  reload(): void {
    for (const seat of this.#seats) seat.send({ kind: "reload" });
  }

  /** Each gets its time to end its requests. Resolves when no process is left. */
  async stop(): Promise<void> {
    const { clock, config } = this.#options;
    this.#isStopping = true;
    if (this.#seats.every(({ process }) => process === undefined)) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(millis(config.drain + STOP_GRACE), () => {
        for (const { process } of this.#seats) process?.kill();
      });
      this.#onEmpty.add(() => {
        cancel();
        resolve();
      });
      for (const seat of this.#seats) seat.send({ kind: "stop" });
    });
  }
}

const errorOf = ({ code, message }: Extract<FromWorker, { readonly kind: "failed" }>): LlmgwError =>
  new LlmgwError(Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : "FAILED", message);
