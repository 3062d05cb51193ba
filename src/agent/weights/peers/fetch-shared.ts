import { bytes, millis, type NodeId } from "../../../core/ids.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type Clock, pause } from "../../../platform/clock.ts";
import type { Downloader } from "../../../platform/fetch/download.ts";
import { createMeter } from "../../../platform/fetch/meter.ts";
import type { Logger } from "../../../platform/logger.ts";
import { fromFetch, lasting, type WeightFailure } from "../failure.ts";
import type { FetchedWeights, FetchRequest } from "../sources/source.ts";
import type { Exchange, OwnTransfer } from "./exchange.ts";
import { gatherFile, type GatherNews } from "./gather-file.ts";
import type { Visiting } from "./visit.ts";

export interface SharedContext {
  readonly exchange: Exchange;
  readonly downloader: Pick<Downloader, "gather">;
  readonly visiting: Visiting;
  /** Looks again at what this node has for others. */
  readonly refresh: () => Promise<void>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export interface SharedJob {
  readonly key: string;
  /** The model's source as its profile has it. */
  readonly source: string;
  /** 0: not known. */
  readonly bytes: number;
  readonly request: FetchRequest;
  /** The way to the source. */
  readonly fromOrigin: (request: FetchRequest) => Promise<Result<FetchedWeights, WeightFailure>>;
  /** Writes down that the file is here, before others are told so. */
  readonly settle: (weights: FetchedWeights) => Promise<void>;
}

/** A control plane that does not say who goes to the source in this time is not waited for. */
const WORD_PATIENCE = millis(5_000);

/** Gets a file from other nodes as far as they have it, and from the source when this node is the one to go there. */
export async function fetchShared(
  context: SharedContext,
  job: SharedJob,
): Promise<Result<FetchedWeights, WeightFailure>> {
  const { exchange } = context;
  if (!exchange.isConnected) return await settled(context, job, await job.fromOrigin(counting(exchange, job.request)));
  const file = { key: job.key, bytes: job.bytes, sha256: job.request.sha256?.toLowerCase() ?? "" };
  const transfer = exchange.begin(file, job.source);
  try {
    // A moment in which this node neither gets the file nor has it would send another one to the source.
    return await settled(context, job, await new SharedFetch(context, job, transfer).run());
  } finally {
    transfer.end();
  }
}

async function settled(
  { refresh }: SharedContext,
  { settle }: SharedJob,
  outcome: Result<FetchedWeights, WeightFailure>,
): Promise<Result<FetchedWeights, WeightFailure>> {
  if (!outcome.ok) return outcome;
  await settle(outcome.value);
  await refresh();
  return outcome;
}

class SharedFetch {
  readonly #context: SharedContext;
  readonly #job: SharedJob;
  readonly #transfer: OwnTransfer;
  #round: number;
  #wrong: readonly NodeId[] = [];

  constructor(context: SharedContext, job: SharedJob, transfer: OwnTransfer) {
    this.#context = context;
    this.#job = job;
    this.#transfer = transfer;
    this.#round = transfer.round;
  }

  async run(): Promise<Result<FetchedWeights, WeightFailure>> {
    await this.#firstWord();
    for (;;) {
      const order = this.#transfer.order();
      if (order === undefined || order.toOrigin) {
        const outcome = await this.#fromOrigin();
        if (outcome !== "peers") return outcome;
      }
      const outcome = await this.#fromPeers();
      if (outcome !== "origin") return outcome;
    }
  }

  /** Resolves when the control plane has said how to get the file, or has had the time to. */
  async #firstWord(): Promise<void> {
    if (this.#transfer.order() !== undefined) return;
    const { clock } = this.#context;
    const { signal } = this.#job.request;
    const heard = new AbortController();
    const forget = this.#transfer.onPlan(() => {
      if (this.#transfer.order() !== undefined) heard.abort();
    });
    await pause(clock, WORD_PATIENCE, AbortSignal.any([signal, heard.signal]));
    forget();
  }

  /** peers: somebody else was sent to the source meanwhile, since this node did not get on. */
  async #fromOrigin(): Promise<Result<FetchedWeights, WeightFailure> | "peers"> {
    const { request, fromOrigin } = this.#job;
    const { exchange } = this.#context;
    const replaced = new AbortController();
    const forget = this.#transfer.onPlan(() => {
      const order = this.#transfer.order();
      if (order !== undefined && !order.toOrigin && order.sources.length > 0) replaced.abort();
    });
    this.#transfer.update({ doing: "origin", from: [] });
    try {
      const outcome = await fromOrigin(
        counting(exchange, {
          ...request,
          signal: AbortSignal.any([request.signal, replaced.signal]),
          onProgress: (progress) => {
            this.#transfer.update({ done: progress.done });
            request.onProgress(progress);
          },
        }),
      );
      return !outcome.ok && replaced.signal.aborted && !request.signal.aborted ? "peers" : outcome;
    } finally {
      forget();
    }
  }

  async #fromPeers(): Promise<Result<FetchedWeights, WeightFailure> | "origin"> {
    const { request, key, bytes: size, source } = this.#job;
    const { exchange, logger } = this.#context;
    this.#transfer.update({ doing: "waiting", round: this.#round });
    const end = await gatherFile(this.#context, {
      ...{ key, bytes: size, target: request.target, sha256: request.sha256, signal: request.signal },
      ...{ round: this.#round, wrong: this.#wrong },
      order: () => this.#transfer.order(),
      isConnected: () => exchange.isConnected,
      onNews: this.#newsTeller(),
      onWrong: (node) => {
        exchange.found({ node, key });
      },
    });
    switch (end.kind) {
      case "done":
        return ok({ bytes: end.file.bytes, sha256: end.file.sha256, pieces: end.file.pieces });
      case "failed":
        if (end.failure.kind === "aborted") return err(lasting("aborted", `${source}: fetching was stopped`));
        return err(fromFetch(source, end.failure));
      case "origin":
        // What it was let in by is used up.
        this.#round += 1;
        if (end.why === undefined) return "origin";
        logger.warn({ file: key }, `${key} is fetched from its source: ${end.why}`);
        return await this.#alone();
    }
  }

  /** Nobody else is sent; this node goes by itself. */
  async #alone(): Promise<Result<FetchedWeights, WeightFailure> | "origin"> {
    const outcome = await this.#fromOrigin();
    return outcome === "peers" ? "origin" : outcome;
  }

  #newsTeller(): (news: GatherNews) => void {
    const { exchange, clock } = this.#context;
    const { onProgress } = this.#job.request;
    const meter = createMeter(clock, 0);
    return ({ done, total, came, from, wrong, unreachable, round }) => {
      exchange.count("peer", came);
      this.#round = round;
      this.#wrong = wrong;
      this.#transfer.update({ doing: done > 0 ? "peers" : "waiting", done, from, wrong, unreachable, round });
      meter.note(done);
      onProgress({ done: bytes(done), total: bytes(total), bytesPerSecond: meter.rate(), received: 0 });
    };
  }
}

/** The same request, with what comes over the network counted. */
function counting(exchange: Exchange, request: FetchRequest): FetchRequest {
  let counted = 0;
  return {
    ...request,
    onProgress: (progress) => {
      const received = Math.max(counted, progress.received);
      exchange.count("origin", received - counted);
      counted = received;
      request.onProgress(progress);
    },
  };
}
