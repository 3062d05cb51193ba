import type { Engine } from "./engine.ts";

type Work = NonNullable<Engine["work"]>;

/** The work of an engine that tells of it on its page of metrics. */
export const workOnPage = (read: Work["read"]): Work => ({
  request: () => ({ method: "GET", path: "/metrics", body: undefined }),
  read,
});

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{[^}]*\})? (\S+)/;

/** The sum of each metric over all its labels, by name. Lines that are no samples, and values that are no numbers, are left out. */
export function sumsOf(page: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const line of page.split("\n")) {
    const [, name, text] = SAMPLE.exec(line) ?? [];
    const value = Number(text);
    if (name === undefined || !Number.isFinite(value)) continue;
    sums.set(name, (sums.get(name) ?? 0) + value);
  }
  return sums;
}

/** The sum of those of the metrics that are there; undefined when none is. */
export function sumOf(sums: ReadonlyMap<string, number>, names: readonly string[]): number | undefined {
  const there = names.flatMap((name) => sums.get(name) ?? []);
  return there.length === 0 ? undefined : there.reduce((sum, value) => sum + value, 0);
}
