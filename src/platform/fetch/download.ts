import { resolve } from "node:path";
import { type Millis, millis } from "../../core/ids.ts";
import type { Result } from "../../core/result.ts";
import type { Clock } from "../clock.ts";
import type { FetchContext, RetryPolicy } from "./context.ts";
import { createDiskSpace } from "./disk.ts";
import type { FetchFailure } from "./failure.ts";
import { fetchFile, type FetchedFile, type FileRequest } from "./fetch-file.ts";
import { createFlights } from "./flights.ts";
import { type Gathering, type GatherRequest, openGathering } from "./gather.ts";
import { createHostLimits } from "./limits.ts";
import { type OpenPart, OpenParts } from "./open-parts.ts";
import type { FetchEnv } from "./proxy.ts";
import { fetchStart, type FileStart, type StartRequest } from "./start.ts";
import { fetchText, type TextAnswer, type TextRequest } from "./text.ts";
import { createTransport } from "./transport.ts";

export type { FetchFailure } from "./failure.ts";

export interface DownloaderOptions {
  /** Proxy variables and certificate files are read from it; nothing else is. */
  readonly env: FetchEnv;
  readonly clock: Clock;
  /** Silence on a connection after which it is given up and resumed. Default 30 s. */
  readonly idleTimeout?: Millis;
  /** Connections for one large file. Default 6. */
  readonly parts?: number;
  /** Default: 5 tries in a row that bring nothing, 0.5 s to 30 s apart. */
  readonly retry?: RetryPolicy;
  readonly random?: () => number;
}

export interface Downloader {
  /**
   * Fetches a file whole and checked to `target`, or leaves none of that name. Large files come in parallel ranges. What
   * a kill, a broken connection or an abort left is gone on from by the next call, byte for byte. Calls for one target
   * share one download; two processes never write one file.
   */
  file(request: FileRequest): Promise<Result<FetchedFile, FetchFailure>>;
  /** For a file whose pieces the caller gets by itself, from wherever. What an earlier download of it left is gone on with. */
  gather(request: GatherRequest): Promise<Result<Gathering, FetchFailure>>;
  /** The file on its way to `target`, for whoever wants to read from it; undefined when there is none. */
  open(target: string): OpenPart | undefined;
  /** Any status is an answer, but "too many requests". */
  text(request: TextRequest): Promise<Result<TextAnswer, FetchFailure>>;
  /** The first bytes of a file, asked for once. */
  start(request: StartRequest): Promise<Result<FileStart, FetchFailure>>;
  /** Ends every connection. */
  close(): Promise<void>;
}

const DEFAULT_IDLE: Millis = millis(30_000);
const DEFAULT_PARTS = 6;
const DEFAULT_RETRY: RetryPolicy = { tries: 5, firstDelay: millis(500), maxDelay: millis(30_000) };

/** The one way to the outside: by the proxy variables of `env`, trusting the system's certificates as well as Node's. */
export function createDownloader(options: DownloaderOptions): Downloader {
  const context: FetchContext = {
    clock: options.clock,
    transport: createTransport(options.env),
    limits: createHostLimits(options.clock),
    open: new OpenParts(),
    idleTimeout: options.idleTimeout ?? DEFAULT_IDLE,
    retry: options.retry ?? DEFAULT_RETRY,
    parts: options.parts ?? DEFAULT_PARTS,
    random: options.random ?? Math.random,
  };
  const space = createDiskSpace();
  return {
    file: createFlights((job) => fetchFile(context, space, job)),
    gather: (request) => openGathering(context, space, request),
    open: (target) => context.open.find(resolve(target)),
    text: (request) => fetchText(context, request),
    start: (request) => fetchStart(context, request),
    close: () => context.transport.close(),
  };
}
