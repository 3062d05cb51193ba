/** By the numbers in the texts, from left to right, one that is not there being 0: 2.9 comes before 2.39. Below 0: `a` is less. */
export function compareNumbers(a: string, b: string): number {
  const [left, right] = [numbersIn(a), numbersIn(b)];
  const places = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => i);
  return places.map((i) => (left[i] ?? 0) - (right[i] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

const numbersIn = (text: string): readonly number[] => (text.match(/\d+/g) ?? []).map(Number);
