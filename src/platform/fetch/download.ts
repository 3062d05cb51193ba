import { createHash } from "node:crypto";
import { mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { type Bytes, bytes, type Millis, millis } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Clock } from "../clock.ts";
import { removeIfThere } from "../files.ts";
import { headerValues, statusFailure } from "./answer.ts";
import type { FetchContext, RetryPolicy } from "./context.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import { follow } from "./follow.ts";
import { watchIdle } from "./idle.ts";
import { createHostLimits } from "./limits.ts";
import type { FetchEnv } from "./proxy.ts";
import { fetchText, type TextAnswer, type TextRequest, thrownFailure } from "./text.ts";
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
  readonly retry?: RetryPolicy;
  readonly random?: () => number;
}

export interface FileProgress {
  readonly done: Bytes;
  /** 0: the source did not say. */
  readonly total: Bytes;
  readonly bytesPerSecond: number;
}

export interface FileRequest {
  readonly url: string;
  readonly target: string;
  /** Hex. A file with other bytes is never left under the target's name. */
  readonly sha256?: string;
  readonly bytes?: number;
  /** Sent to the address's own origin and to no other, whatever redirects say. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: FileProgress) => void;
}

export interface FetchedFile {
  readonly path: string;
  readonly bytes: Bytes;
  /** Hex, of what is on disk. */
  readonly sha256: string;
}

export interface Downloader {
  file(request: FileRequest): Promise<Result<FetchedFile, FetchFailure>>;
  text(request: TextRequest): Promise<Result<TextAnswer, FetchFailure>>;
  /** Ends every connection. */
  close(): Promise<void>;
}

const DEFAULT_RETRY: RetryPolicy = { tries: 5, firstDelay: millis(500), maxDelay: millis(30_000) };

export function createDownloader(options: DownloaderOptions): Downloader {
  const context: FetchContext = {
    clock: options.clock,
    transport: createTransport(options.env),
    limits: createHostLimits(options.clock),
    idleTimeout: options.idleTimeout ?? millis(30_000),
    retry: options.retry ?? DEFAULT_RETRY,
    parts: options.parts ?? 6,
    random: options.random ?? Math.random,
  };
  return {
    text: (request) => fetchText(context, request),
    file: (request) => fetchFile(context, request),
    close: () => context.transport.close(),
  };
}

async function fetchFile(context: FetchContext, request: FileRequest): Promise<Result<FetchedFile, FetchFailure>> {
  const url = new URL(request.url);
  const outer = request.signal ?? new AbortController().signal;
  const watch = watchIdle(context.clock, context.idleTimeout, outer);
  const part = `${request.target}.${String(process.pid)}.part`;
  try {
    const followed = await follow(context.transport, {
      url,
      method: "GET",
      ownHeaders: request.headers ?? {},
      headers: {},
      follow: "all",
      signal: watch.signal,
    });
    if (!followed.ok) return followed;
    const { answer } = followed.value;
    const limited = context.limits.note(url, answer.statusCode, headerValues(answer.headers));
    if (limited !== undefined) return err(limited);
    if (answer.statusCode !== 200) return err(statusFailure(answer.statusCode, url).failure);
    await mkdir(dirname(request.target), { recursive: true });
    const file = await open(part, "w");
    const hash = createHash("sha256");
    let done = 0;
    try {
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        watch.heard();
        hash.update(chunk);
        await file.write(chunk);
        done += chunk.length;
        request.onProgress?.({ done: bytes(done), total: bytes(request.bytes ?? 0), bytesPerSecond: 0 });
      }
      await file.sync();
    } finally {
      await file.close();
    }
    const sha256 = hash.digest("hex");
    if (request.sha256 !== undefined && sha256 !== request.sha256) {
      return err({ kind: "checksum", message: `${shownUrl(url)} has ${sha256}, wanted ${request.sha256}` });
    }
    await rename(part, request.target);
    return ok({ path: request.target, bytes: bytes(done), sha256 });
  } catch (error) {
    return err(thrownFailure(error, { context, url, watch, outer }));
  } finally {
    watch.stop();
    await removeIfThere(part);
  }
}
