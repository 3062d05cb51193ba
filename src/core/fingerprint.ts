/** JSON with sorted keys and without undefined: equal values give equal text, whatever order they were built in. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;

/**
 * 16 hex digits that tell two values apart (FNV-1a, 64 bit, over the canonical JSON's code points). For noticing
 * change, not for security.
 */
export function fingerprint(value: unknown): string {
  let hash = FNV_OFFSET;
  for (const char of canonicalJson(value)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(char.codePointAt(0) ?? 0)) * FNV_PRIME);
  }
  return hash.toString(16).padStart(16, "0");
}
