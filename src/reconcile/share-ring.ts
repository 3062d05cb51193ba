import { compareTexts } from "../core/compare-texts.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { NodeId } from "../core/ids.ts";
import type { SharedFile, SharedTransfer } from "../core/sharing.ts";

/** A node that has a file, or some of it. */
export interface RingSource {
  readonly id: NodeId;
  readonly file: SharedFile;
}

/** A node that wants the file. */
export interface RingAsker {
  readonly id: NodeId;
  readonly transfer: Pick<SharedTransfer, "file" | "unreachable">;
}

/** Sources in an order that is nobody's: each asker begins at a place of its own, so that many spread over all. */
export type Ring = readonly { readonly at: string; readonly source: RingSource }[];

export const ringOf = (sources: readonly RingSource[]): Ring =>
  sources.map((source) => ({ at: fingerprint(source.id), source })).toSorted((a, b) => compareTexts(a.at, b.at));

/** The first so many from the asker's place on that are of use to it. The same for the same ring. */
export function nearest(ring: Ring, asker: RingAsker, most: number): readonly NodeId[] {
  const begin = placeOf(ring, fingerprint(`${asker.id} asks`));
  const found: NodeId[] = [];
  for (let step = 0; step < ring.length && found.length < most; step += 1) {
    const source = ring[(begin + step) % ring.length]?.source;
    if (source !== undefined && isOfUse(asker, source)) found.push(source.id);
  }
  return found;
}

export const isOfUse = ({ id, transfer }: RingAsker, source: RingSource): boolean =>
  source.id !== id && !transfer.unreachable.includes(source.id) && isSame(source.file, transfer.file);

/** What is not known contradicts nothing. */
const isSame = (a: SharedFile, b: SharedFile): boolean =>
  (a.sha256 === "" || b.sha256 === "" || a.sha256 === b.sha256) &&
  (a.bytes === 0 || b.bytes === 0 || a.bytes === b.bytes);

function placeOf(ring: Ring, at: string): number {
  let [low, high] = [0, ring.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ring[middle]?.at ?? "") < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
