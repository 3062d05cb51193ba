import { err, type Result } from "../../core/result.ts";
import type { FetchContext } from "./context.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import { follow, type Followed } from "./follow.ts";
import { type IdleWatch, watchIdle } from "./idle.ts";
import { thrownFailure } from "./thrown.ts";

export interface Asked {
  readonly url: string;
  readonly method?: "GET" | "HEAD";
  /** Sent to the address's own origin only. */
  readonly ownHeaders: Readonly<Record<string, string>> | undefined;
  /** Sent along the whole way. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default all. */
  readonly follow?: "all" | "same-origin" | undefined;
  readonly signal: AbortSignal;
}

/** One request with its redirects, and what `read` makes of the answer while somebody listens for silence. */
export async function ask<T>(
  context: FetchContext,
  asked: Asked,
  read: (followed: Followed, watch: IdleWatch) => Promise<Result<T, FetchFailure>>,
): Promise<Result<T, FetchFailure>> {
  const url = URL.parse(asked.url);
  if (url === null) return err({ kind: "refused", message: `${shownUrl(asked.url)} is no address` });
  const watch = watchIdle(context.clock, context.idleTimeout, asked.signal);
  try {
    const followed = await follow(context, {
      url,
      method: asked.method ?? "GET",
      ownHeaders: asked.ownHeaders ?? {},
      headers: asked.headers ?? {},
      follow: asked.follow ?? "all",
      signal: watch.signal,
    });
    return followed.ok ? await read(followed.value, watch) : followed;
  } catch (error) {
    return err(thrownFailure(error, { context, url, watch, outer: asked.signal }));
  } finally {
    watch.stop();
  }
}
