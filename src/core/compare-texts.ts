/** By code units, the same on every machine. Below 0: `a` comes first. */
export const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
