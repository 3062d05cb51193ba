import { formatBytes } from "../../core/format.ts";
import { dirname } from "node:path";
import { createPart } from "./claim.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import type { PartFile } from "./part-file.ts";
import { type ByteRange, covered } from "./ranges.ts";
import { isSameVersion, pieceBytes, type RoundEnd, type RoundStart } from "./round.ts";
import { closeOpened, type Opened, type Transfer } from "./transfer.ts";

type Preparation = { readonly kind: "go"; readonly start: RoundStart } | RoundEnd;

/** Looks at the first answer before a byte of it is written: whether it is the file at all, and whether it fits the disk. */
export async function prepare(transfer: Transfer, opened: Opened, asked: ByteRange | undefined): Promise<Preparation> {
  const { reply } = opened;
  if (reply.kind === "no-such-range") return await afterNoSuchRange(transfer, opened, reply.total);
  const size = reply.kind === "part" ? reply.total : reply.size;
  const wrong = whyNotTheFile(transfer, opened, size);
  if (wrong !== undefined) return end(opened, { kind: "failed", failure: wrong });
  if (transfer.part !== undefined && isAnother(transfer, opened, size)) await forget(transfer);
  if (!startsWhereNeeded(transfer, opened, asked)) return end(opened, { kind: "again", failure: changed(transfer) });
  transfer.size = size ?? transfer.size;
  transfer.validator = reply.validator;
  return await begin(transfer, opened, asked);
}

function startsWhereNeeded(transfer: Transfer, { reply }: Opened, asked: ByteRange | undefined): boolean {
  const needed = transfer.part === undefined ? 0 : (asked?.start ?? 0);
  return needed === (reply.kind === "part" ? reply.start : 0);
}

async function begin(transfer: Transfer, opened: Opened, asked: ByteRange | undefined): Promise<Preparation> {
  const full = await bookSpace(transfer);
  if (full !== undefined) return end(opened, { kind: "failed", failure: full });
  const part = (transfer.part ??= await createPart(transfer, transfer.context.clock));
  return { kind: "go", start: { part, opened, ...firstPiece(transfer, opened, asked) } };
}

function firstPiece(
  transfer: Transfer,
  { reply }: Opened,
  asked: ByteRange | undefined,
): Pick<RoundStart, "first" | "isRanged"> {
  const size = transfer.size ?? Infinity;
  if (reply.kind !== "part" || asked === undefined) return { first: { start: 0, end: size }, isRanged: false };
  return { first: { start: asked.start, end: Math.min(asked.end, size) }, isRanged: transfer.size !== undefined };
}

function end(opened: Opened, how: RoundEnd): RoundEnd {
  closeOpened(opened);
  return how;
}

async function afterNoSuchRange(transfer: Transfer, opened: Opened, total: number | undefined): Promise<Preparation> {
  closeOpened(opened);
  await forget(transfer);
  if (total === 0 && (transfer.announced ?? 0) === 0) {
    transfer.size = 0;
    transfer.part = await createPart(transfer, transfer.context.clock);
    return { kind: "complete" };
  }
  transfer.isPlain = true;
  return { kind: "again", failure: changed(transfer) };
}

function whyNotTheFile(transfer: Transfer, { followed }: Opened, size: number | undefined): FetchFailure | undefined {
  const type = followed.headers["content-type"] ?? "";
  const { announced, sha256 } = transfer;
  if (announced !== undefined && size !== undefined && size !== announced) {
    const got = `${formatBytes(size)} (${String(size)} bytes${type === "" ? "" : `, ${type}`})`;
    return {
      kind: "checksum",
      message: `${shownUrl(transfer.url)} answered ${got} where ${formatBytes(announced)} (${String(announced)} bytes) were announced`,
    };
  }
  // A login or error page with status 200. With nothing known about the file, nothing later would catch it.
  if (announced === undefined && sha256 === undefined && /^text\/html\b/i.test(type) && !isPage(transfer.target)) {
    return { kind: "http", message: `${shownUrl(transfer.url)} answered a web page (${type}), not a file` };
  }
  return undefined;
}

const isPage = (target: string): boolean => /\.html?$/i.test(target);

/** Whether what was begun cannot be gone on with from this answer. */
function isAnother(transfer: Transfer, { reply }: Opened, size: number | undefined): boolean {
  if (reply.kind !== "part") return true;
  const isOtherSize = size !== undefined && transfer.size !== undefined && size !== transfer.size;
  return isOtherSize || !isSameVersion(transfer, reply.validator);
}

/** Starts from nothing: what was written belongs to other content. */
async function forget(transfer: Transfer): Promise<void> {
  await transfer.part?.discard();
  transfer.part = undefined;
  transfer.size = undefined;
  transfer.validator = undefined;
  transfer.onBytes();
}

async function bookSpace(transfer: Transfer): Promise<FetchFailure | undefined> {
  transfer.releaseSpace();
  transfer.releaseSpace = () => undefined;
  const remaining = (): number => Math.max(0, (transfer.size ?? 0) - writtenBytes(transfer.part));
  const answer = await transfer.space.reserve(dirname(transfer.target), remaining);
  if (typeof answer !== "function") return answer;
  transfer.releaseSpace = answer;
  return undefined;
}

export const writtenBytes = (part: PartFile | undefined): number => covered(part?.written() ?? []);

const changed = (transfer: Transfer): FetchFailure => ({
  kind: "http",
  message: `${shownUrl(transfer.url)} changed while it was fetched`,
});

/** What to ask for next; undefined is the whole. */
export function firstStep(transfer: Transfer): number {
  return pieceBytes(transfer.size ?? transfer.announced, transfer.context.parts);
}
