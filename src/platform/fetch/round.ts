import { millis } from "../../core/ids.ts";
import { pause } from "../clock.ts";
import { delayBefore } from "./context.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import type { PartFile } from "./part-file.ts";
import { type ByteRange, nextGap, type RangeSet, reachFrom, withRange } from "./ranges.ts";
import { closeOpened, consume, isTrouble, type Opened, openRange, type Transfer, type Trouble } from "./transfer.ts";

export type RoundEnd =
  | { readonly kind: "complete" }
  | { readonly kind: "failed"; readonly failure: FetchFailure }
  /** What the server said no longer fits what was begun: ask afresh. */
  | { readonly kind: "again"; readonly failure: FetchFailure };

export interface RoundStart {
  readonly part: PartFile;
  readonly opened: Opened;
  readonly first: ByteRange;
  /** Whether further ranges may be asked for; otherwise the first is everything. */
  readonly isRanged: boolean;
}

const SMALLEST_PIECE = 2 * 1024 * 1024;
const LARGEST_PIECE = 64 * 1024 * 1024;

/** Small enough that a kill costs little and slow connections do not hold up the end, large enough to be worth a request. */
export function pieceBytes(size: number | undefined, parts: number): number {
  const even = Math.ceil((size ?? 0) / (parts * 4));
  return Math.min(LARGEST_PIECE, Math.max(SMALLEST_PIECE, even));
}

interface Round extends RoundStart {
  readonly transfer: Transfer;
  readonly signal: AbortSignal;
  /** Ranges that some worker has taken on. */
  claimed: RangeSet;
  end: RoundEnd | undefined;
  stop(end: RoundEnd): void;
}

/** Fetches everything that is missing over several connections. The first end that is not "complete" stops them all. */
export async function runRound(transfer: Transfer, start: RoundStart): Promise<RoundEnd> {
  const halt = new AbortController();
  const round: Round = {
    ...start,
    transfer,
    signal: AbortSignal.any([transfer.signal, halt.signal]),
    claimed: [start.first],
    end: undefined,
    stop(end) {
      this.end ??= end;
      halt.abort();
    },
  };
  const others = start.isRanged ? transfer.context.parts - 1 : 0;
  await Promise.all([workFrom(round), ...Array.from({ length: others }, () => work(round))]);
  return round.end ?? { kind: "complete" };
}

async function workFrom(round: Round): Promise<void> {
  // The body that is already open was asked for before the round began, so the round's stop must close it.
  const close = (): void => {
    closeOpened(round.opened);
  };
  round.signal.addEventListener("abort", close, { once: true });
  await fetchPiece(round, round.first, round.opened);
  round.signal.removeEventListener("abort", close);
  await work(round);
}

async function work(round: Round): Promise<void> {
  while (round.end === undefined && round.isRanged) {
    const piece = claimNext(round);
    if (piece === undefined) return;
    await fetchPiece(round, piece, undefined);
  }
}

function claimNext(round: Round): ByteRange | undefined {
  const { size, context } = round.transfer;
  if (size === undefined) return undefined;
  const piece = nextGap([round.part.written(), round.claimed], size, pieceBytes(size, context.parts));
  if (piece !== undefined) round.claimed = withRange(round.claimed, piece);
  return piece;
}

/** Tries until the piece is there, the round ends, or so many tries in a row brought nothing. */
async function fetchPiece(round: Round, piece: ByteRange, opened: Opened | undefined): Promise<void> {
  let rest = piece;
  let current = opened;
  for (let failures = 0; round.end === undefined;) {
    const trouble = await tryPiece(round, rest, current);
    current = undefined;
    if (trouble === undefined) return;
    const reached = Math.min(piece.end, reachFrom(round.part.written(), rest.start));
    failures = reached > rest.start ? 1 : failures + 1;
    rest = { start: reached, end: piece.end };
    const end = endAfter(round, trouble, failures);
    if (end !== undefined) {
      round.stop(end);
      return;
    }
    await pauseAfter(round.transfer, trouble.failure, { failures, signal: round.signal });
  }
}

function endAfter(round: Round, { failure, retry }: Trouble, failures: number): RoundEnd | undefined {
  if (!retry || failures >= round.transfer.context.retry.tries) return { kind: "failed", failure };
  return round.isRanged ? undefined : { kind: "again", failure };
}

async function tryPiece(round: Round, rest: ByteRange, current: Opened | undefined): Promise<Trouble | undefined> {
  const { transfer, part, signal } = round;
  const opened = current ?? (await openRange(transfer, rest, signal));
  if (isTrouble(opened)) return opened;
  if (current === undefined && !fits(transfer, opened, rest)) {
    closeOpened(opened);
    const message = `${shownUrl(transfer.url)} changed, or stopped answering ranges, while it was fetched`;
    round.stop({ kind: "again", failure: { kind: "http", message } });
    return undefined;
  }
  return await consume(transfer, opened, { part, range: rest, signal });
}

function fits(transfer: Transfer, { reply }: Opened, rest: ByteRange): boolean {
  if (reply.kind !== "part" || reply.start !== rest.start) return false;
  return (reply.total === undefined || reply.total === transfer.size) && isSameVersion(transfer, reply.validator);
}

/** With a hash known, the hash decides in the end. */
export const isSameVersion = (transfer: Transfer, validator: string | undefined): boolean =>
  transfer.sha256 !== undefined || validator === transfer.validator;

export async function pauseAfter(
  transfer: Transfer,
  failure: FetchFailure,
  at: { readonly failures: number; readonly signal: AbortSignal },
): Promise<void> {
  const { clock } = transfer.context;
  const backoff = delayBefore(transfer.context, at.failures);
  const wait = failure.kind === "rate-limited" ? Math.max(backoff, failure.retryAt - clock.now()) : backoff;
  await pause(clock, millis(wait), at.signal);
}
