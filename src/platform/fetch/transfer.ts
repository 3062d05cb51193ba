import { formatBytes } from "../../core/format.ts";
import type { FetchContext } from "./context.ts";
import { DiskError, type DiskSpace } from "./disk.ts";
import { chunksOf } from "./body-queue.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import { dropBody, follow, type Followed } from "./follow.ts";
import { type IdleWatch, watchIdle } from "./idle.ts";
import type { PartFile } from "./part-file.ts";
import type { ByteRange } from "./ranges.ts";
import { type Reply, readReply } from "./reply.ts";
import { statusFailure } from "./answer.ts";
import { thrownFailure } from "./thrown.ts";

/** One file on its way: what is asked for, and what has been learned so far. Only the functions of this folder change it. */
export interface Transfer {
  readonly context: FetchContext;
  readonly space: DiskSpace;
  readonly url: URL;
  readonly target: string;
  readonly sha256: string | undefined;
  /** What the caller was told that the size is. */
  readonly announced: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Called after every write and every restart. */
  readonly onBytes: () => void;
  /** Undefined until a server has answered with a file. */
  part: PartFile | undefined;
  size: number | undefined;
  validator: string | undefined;
  /** Where the redirects led: later ranges go there straight. Such addresses expire; then the way is gone again. */
  resolved: URL | undefined;
  /** The server refused a range that starts at 0, so it is asked for the whole. */
  isPlain: boolean;
  /** Gives back what was booked on the disk. */
  releaseSpace: () => void;
  /** Bytes that came over the network, also those that were thrown away again. */
  received: number;
  /** The disk became full under it. */
  hitFullDisk: boolean;
}

/** Why a piece did not come, and whether the same request could go better. */
export interface Trouble {
  readonly failure: FetchFailure;
  readonly retry: boolean;
}

export interface Opened {
  readonly followed: Followed;
  readonly reply: Exclude<Reply, { readonly kind: "failure" }>;
  readonly chunks: AsyncIterable<Buffer>;
  readonly watch: IdleWatch;
}

/** Asks for a range, or for the whole when it is undefined. The caller consumes or closes what it gets. */
export async function openRange(
  transfer: Transfer,
  range: ByteRange | undefined,
  signal: AbortSignal,
): Promise<Opened | Trouble> {
  const { context } = transfer;
  const shortcut = transfer.resolved;
  const url = shortcut ?? transfer.url;
  const watch = watchIdle(context.clock, context.idleTimeout, signal);
  try {
    const followed = await follow(context, {
      url,
      method: "GET",
      ownHeaders: url.origin === transfer.url.origin ? transfer.headers : {},
      headers: rangeHeaders(transfer, range),
      follow: "all",
      signal: watch.signal,
    });
    if (!followed.ok) return stop(watch, { failure: followed.error, retry: isSoonOver(transfer, followed.error) });
    return judge(transfer, { ...followed.value, watch }, shortcut !== undefined);
  } catch (error) {
    transfer.resolved = undefined;
    return stop(watch, {
      failure: thrownFailure(error, { context, url, watch, outer: signal }),
      retry: !signal.aborted,
    });
  }
}

function judge(
  transfer: Transfer,
  { watch, ...followed }: Followed & { readonly watch: IdleWatch },
  isShortcut: boolean,
): Opened | Trouble {
  const reply = readReply(followed.answer.statusCode, followed.headers);
  const encoding = followed.headers["content-encoding"] ?? "identity";
  if (reply.kind !== "failure" && encoding === "identity") {
    if (followed.url.origin !== transfer.url.origin) transfer.resolved = followed.url;
    return { followed, reply, watch, chunks: chunksOf(followed.answer.body) };
  }
  dropBody(followed.answer);
  if (reply.kind !== "failure") {
    const message = `${shownUrl(followed.url)} answered in the encoding ${encoding}, although it was asked for plain bytes`;
    return stop(watch, { failure: { kind: "http", message }, retry: false });
  }
  const trouble = statusFailure(reply.status, followed.url);
  if (!isShortcut) return stop(watch, trouble);
  // A signed address that has expired says "forbidden"; the way that led to it may lead to a fresh one.
  transfer.resolved = undefined;
  return stop(watch, { ...trouble, retry: true });
}

/** A limit that ends soon is waited for; of a longer one the caller hears. */
const PATIENCE_MS = 30_000;

const isSoonOver = ({ context }: Transfer, failure: FetchFailure): boolean =>
  failure.kind === "rate-limited" && failure.retryAt - context.clock.now() <= PATIENCE_MS;

function stop(watch: IdleWatch, trouble: Trouble): Trouble {
  watch.stop();
  return trouble;
}

function rangeHeaders(transfer: Transfer, range: ByteRange | undefined): Readonly<Record<string, string>> {
  if (range === undefined) return {};
  const reachesEnd = range.end >= (transfer.size ?? Infinity);
  const bounds = `bytes=${String(range.start)}-${reachesEnd ? "" : String(range.end - 1)}`;
  // With a hash known, the same bytes under a new ETag are welcome: content networks differ in their ETags.
  const guard = transfer.sha256 === undefined ? transfer.validator : undefined;
  return guard === undefined ? { range: bounds } : { range: bounds, "if-range": guard };
}

/** Ends an answer that is not going to be read. */
export function closeOpened({ followed, watch }: Opened): void {
  dropBody(followed.answer);
  watch.stop();
}

/** Writes the body from `range.start` on, at most to `range.end`. Undefined when it came whole. */
export async function consume(
  transfer: Transfer,
  opened: Opened,
  at: { readonly part: PartFile; readonly range: ByteRange; readonly signal: AbortSignal },
): Promise<Trouble | undefined> {
  const { followed, watch, chunks } = opened;
  const { part, range } = at;
  let position = range.start;
  try {
    for await (const chunk of chunks) {
      watch.heard();
      const useful = chunk.subarray(0, Math.min(chunk.length, range.end - position));
      await part.write(useful, position);
      watch.heard();
      position += useful.length;
      transfer.received += useful.length;
      transfer.onBytes();
      // More than was asked for. At the exact end the body is left to end by itself: then its connection is used again.
      if (useful.length < chunk.length) break;
    }
    await part.record();
  } catch (error) {
    if (position >= range.end && !(error instanceof DiskError)) return undefined;
    const { context } = transfer;
    const failure = thrownFailure(error, { context, url: followed.url, watch, outer: at.signal });
    transfer.hitFullDisk ||= failure.kind === "no-space";
    await part.record().catch(() => undefined);
    return { failure, retry: failure.kind === "network" || failure.kind === "stalled" };
  } finally {
    closeOpened(opened);
  }
  if (position >= range.end || range.end === Infinity) return undefined;
  const message = `${shownUrl(followed.url)} ended ${formatBytes(range.end - position)} too early`;
  return { failure: { kind: "network", message }, retry: true };
}

export const isTrouble = (value: Opened | Trouble): value is Trouble => "failure" in value;
