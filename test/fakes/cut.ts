/** The bytes in pieces, as reads would bring them: cut at these places, whatever numbers they are; some pieces may be empty. */
export function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const edges = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
}
