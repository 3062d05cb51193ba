import { describeSource } from "../agent/weights/sources/list.ts";
import { millis } from "../core/ids.ts";
import { parseSource } from "../core/source.ts";
import type { Clock } from "../platform/clock.ts";
import { createDownloader } from "../platform/fetch/download.ts";

/** Long enough for a slow answer, short enough to wait for before going on to another source. */
const ANSWER_WITHIN_MS = 15_000;
const ONCE = { tries: 1, firstDelay: millis(0), maxDelay: millis(0) } as const;

interface Probing {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Why a source has nothing for us, found out by asking it once what it has; undefined when it can be fetched from. A node
 * asks again for as long as it takes, which is right for weights that a person wants and wrong for the first of several
 * samples.
 */
export async function whyNotThere(source: string, { env, clock, signal }: Probing): Promise<string | undefined> {
  const parsed = parseSource(source);
  if (!parsed.ok) return parsed.error;
  const downloader = createDownloader({ env, clock, retry: ONCE });
  try {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
    const described = await describeSource(parsed.value, { downloader, env }, inTime);
    if (described.ok) return undefined;
    const said = described.error.message;
    return inTime.aborted ? `${said} (no answer within ${String(ANSWER_WITHIN_MS / 1000)} s)` : said;
  } finally {
    await downloader.close();
  }
}
