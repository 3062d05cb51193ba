import type { FileHandle } from "node:fs/promises";

/** What bytes are read from: answers how many came, none behind its end. */
export interface RangeSource {
  read(buffer: Uint8Array, position: number): Promise<number>;
}

/** Shorter than asked for where the source ends earlier. */
export async function readRange(
  source: RangeSource,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(end - start);
  let filled = 0;
  while (filled < buffer.length) {
    const count = await source.read(buffer.subarray(filled), start + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

export const fromFile = (file: FileHandle): RangeSource => ({
  read: async (buffer, position) => (await file.read(buffer, 0, buffer.length, position)).bytesRead,
});
