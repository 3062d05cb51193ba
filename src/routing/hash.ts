/** FNV-1a over UTF-16 units, 32 bits: for ids and hints, which are short. The same in every process and on every machine. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** Two hashes into one in which every bit depends on every bit of both (the finaliser of MurmurHash3). */
export function mix(a: number, b: number): number {
  let hash = a ^ b;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
