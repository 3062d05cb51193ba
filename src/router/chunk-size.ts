/** A chunk of 16^12 bytes is no chunk. */
export const MOST_DIGITS = 12;
/** Of a body's extensions and trailers together; nobody uses either. */
export const MOST_EXTRA_BYTES = 16_384;

/** A digit of a chunk's size; below 0 for what is none. */
export function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
