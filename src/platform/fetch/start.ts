import { err, ok, type Result } from "../../core/result.ts";
import { statusFailure } from "./answer.ts";
import { ask } from "./ask.ts";
import type { FetchContext } from "./context.ts";
import type { FetchFailure } from "./failure.ts";
import { dropBody, type Followed } from "./follow.ts";
import type { IdleWatch } from "./idle.ts";
import { readBody } from "./read-body.ts";

export interface StartRequest {
  readonly url: string;
  /** At most so many bytes are read, also from a server that would send everything. */
  readonly bytes: number;
  /** Sent to the address's own origin only. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface FileStart {
  readonly bytes: Uint8Array;
  /** Of the whole file; undefined when the server does not say. */
  readonly total: number | undefined;
}

/** The first bytes of a file, in one request that is not tried again: for what is good to know and not needed. */
export const fetchStart = (
  context: FetchContext,
  { url, bytes, headers, signal }: StartRequest,
): Promise<Result<FileStart, FetchFailure>> =>
  ask(
    context,
    { url, ownHeaders: headers, headers: { range: `bytes=0-${String(bytes - 1)}` }, signal },
    (followed, watch) => readStart(followed, bytes, watch),
  );

async function readStart(
  { answer, headers, url }: Followed,
  most: number,
  watch: IdleWatch,
): Promise<Result<FileStart, FetchFailure>> {
  const { statusCode } = answer;
  if (statusCode !== 200 && statusCode !== 206) {
    dropBody(answer);
    return err(statusFailure(statusCode, url).failure);
  }
  // A server that knows no ranges sends the whole file: the connection is cut instead.
  const start = await readBody(answer, most, watch);
  dropBody(answer);
  const stated = statusCode === 206 ? /\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1] : headers["content-length"];
  const total = stated === undefined || !/^\d+$/.test(stated) ? undefined : Number(stated);
  return ok({ bytes: start.subarray(0, most), total });
}
