/** JSON with sorted keys and without undefined: equal values give equal text, whatever order they were built in. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The offset's two halves, and the prime: 2^40 and this. */
const FNV_OFFSET = { high: 0xcbf29ce4, low: 0x84222325 };
const FNV_PRIME_LOW = 0x1b3;
const HALF = 2 ** 32;

/**
 * 16 hex digits that tell two values apart (FNV-1a, 64 bit, over the canonical JSON's code points). For noticing
 * change, not for security.
 */
export function fingerprint(value: unknown): string {
  let { high, low } = FNV_OFFSET;
  for (const char of canonicalJson(value)) {
    // In halves, because numbers of 64 bits cost a hundred times as much.
    const mixed = (low ^ (char.codePointAt(0) ?? 0)) >>> 0;
    const product = mixed * FNV_PRIME_LOW;
    low = product % HALF;
    high = (high * FNV_PRIME_LOW + Math.floor(product / HALF) + ((mixed << 8) >>> 0)) % HALF;
  }
  return hex(high) + hex(low);
}

const hex = (half: number): string => half.toString(16).padStart(8, "0");
