import { compareNumbers } from "../../core/compare-numbers.ts";

/** What the program is asked for its version with: it has no flag for that, but its package has. */
export const VERSION_ARGS = ["-c", "import importlib.metadata as m; print('sglang ' + m.version('sglang'))"] as const;

export const readVersion = (output: string): string | undefined => /^sglang (\d\S*)$/m.exec(output)?.[1];

/** The first release with TLS. */
const LEAST_WITH_TLS = "0.5.10";

export function withoutTls(version: string): string | undefined {
  const [number = ""] = /^\d+\.\d+\.\d+/.exec(version) ?? [];
  if (number === "" || compareNumbers(number, LEAST_WITH_TLS) >= 0) return undefined;
  return `sglang ${version} cannot answer over TLS: take ${LEAST_WITH_TLS} or a later release`;
}
