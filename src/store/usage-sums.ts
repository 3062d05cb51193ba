import type { Insertable } from "kysely";
import type { UsageRecord } from "../core/usage.ts";
import { dayOf } from "../core/usage.ts";
import type { Tables } from "./schema.ts";

type DayRow = Insertable<Tables["usage_days"]>;

/** The rows that these records add to. Requests that no engine worked on count as nothing. */
export function dayRows(records: readonly UsageRecord[]): readonly DayRow[] {
  const rows = new Map<string, DayRow>();
  for (const record of records) {
    if (!record.served) continue;
    const { keyId, keyName, model, tokens } = record;
    const day = dayOf(record.endedAt);
    const name = JSON.stringify([keyId, day, model]);
    const sum = rows.get(name) ?? zeroRow({ key_id: keyId, key_name: keyName, model, day });
    rows.set(name, {
      ...sum,
      key_name: keyName,
      requests: sum.requests + 1,
      prompt_tokens: sum.prompt_tokens + tokens.prompt,
      cached_tokens: sum.cached_tokens + tokens.cached,
      completion_tokens: sum.completion_tokens + tokens.completion,
      estimated: sum.estimated + (tokens.estimated ? 1 : 0),
    });
  }
  return [...rows.values()];
}

const zeroRow = (name: Pick<DayRow, "key_id" | "key_name" | "model" | "day">): DayRow => ({
  ...name,
  requests: 0,
  prompt_tokens: 0,
  cached_tokens: 0,
  completion_tokens: 0,
  estimated: 0,
});
