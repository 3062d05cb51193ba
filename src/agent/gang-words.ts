import type { ReplicaId } from "../core/ids.ts";
import { isFields, parseJson } from "../wire/json-value.ts";

/** What ranks say to each other before they start: that they mean the same replica and attempt, and what time it is. */
export interface GangWords {
  readonly replica: ReplicaId;
  readonly attempt: number;
  readonly rank: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export const speak = (words: GangWords): string => JSON.stringify({ llmgw: "gang", ...words });

/** Undefined for anything that no rank says. */
export function understand(line: string): GangWords | undefined {
  const said = parseJson(line);
  if (!isFields(said) || said["llmgw"] !== "gang") return undefined;
  const { replica, attempt, rank, now } = said;
  if (typeof replica !== "string" || !isCount(attempt) || !isCount(rank) || typeof now !== "number") return undefined;
  return { replica: replica as ReplicaId, attempt, rank, now };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value);
