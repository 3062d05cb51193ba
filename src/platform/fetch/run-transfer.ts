import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { onDisk } from "./disk.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import { firstStep, prepare, writtenBytes } from "./prepare.ts";
import { type ByteRange, nextGap } from "./ranges.ts";
import { pauseAfter, type RoundEnd, runRound } from "./round.ts";
import { isTrouble, openRange, type Transfer } from "./transfer.ts";

/** Brings everything into the part file. Undefined when it is all there; what it is worth, the hash says. */
export async function runTransfer(transfer: Transfer): Promise<FetchFailure | undefined> {
  const { tries } = transfer.context.retry;
  let best = writtenBytes(transfer.part);
  for (let failures = 1; ; failures += 1) {
    const end = await oneRound(transfer);
    if (end.kind === "complete") return undefined;
    if (transfer.signal.aborted) return aborted(transfer);
    if (end.kind === "failed") return end.failure;
    // More than ever before counts as progress; the same bytes once more, from a server without ranges, do not.
    const reached = writtenBytes(transfer.part);
    if (reached > best) failures = 1;
    best = Math.max(best, reached);
    if (failures >= tries) return end.failure;
    await pauseAfter(transfer, end.failure, { failures, signal: transfer.signal });
  }
}

const aborted = (transfer: Transfer): FetchFailure => ({
  kind: "aborted",
  message: `fetching ${shownUrl(transfer.url)} was stopped`,
});

async function oneRound(transfer: Transfer): Promise<RoundEnd> {
  if (isAllThere(transfer)) return { kind: "complete" };
  const asked = firstQuestion(transfer);
  const opened = await openRange(transfer, asked, transfer.signal);
  if (isTrouble(opened)) return { kind: opened.retry ? "again" : "failed", failure: opened.failure };
  await onDisk(transfer.target, () => mkdir(dirname(transfer.target), { recursive: true }));
  const prepared = await prepare(transfer, opened, asked);
  if (prepared.kind !== "go") return prepared;
  const end = await runRound(transfer, prepared.start);
  if (end.kind === "complete") transfer.size ??= writtenBytes(transfer.part);
  return end;
}

/** A kill between the last byte and the rename leaves nothing to ask for. */
const isAllThere = ({ part, size }: Transfer): boolean =>
  size !== undefined && writtenBytes(part) === size && part !== undefined;

/** Undefined asks for the whole: what a small file or a single connection needs no range for. */
function firstQuestion(transfer: Transfer): ByteRange | undefined {
  const { part, isPlain, context } = transfer;
  const written = part?.written() ?? [];
  const size = transfer.size ?? transfer.announced;
  const step = firstStep(transfer);
  const isSmall = context.parts === 1 || (size !== undefined && size <= step);
  if (isPlain || (written.length === 0 && isSmall)) return undefined;
  return nextGap([written], size ?? Infinity, step);
}
