/** Larger than any count in a model's header, and small enough that products of several stay exact enough. */
const LARGEST = 2 ** 31;

/** A whole number above zero; undefined for everything else that a file can hold in its place. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value > 0 && value <= LARGEST ? value : undefined;
