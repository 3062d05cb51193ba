import type { Key } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { ageOf, expiry, type Looking } from "./columns.ts";
import type { Column } from "./table.ts";

export const keyColumns = ({ now, colours }: Looking): readonly Column<Key>[] => [
  { header: "NAME", cell: (key) => key.name },
  { header: "KEY", cell: (key) => `${key.prefix}…` },
  {
    header: "STATE",
    cell: (key) => key.state,
    colour: (key) => (key.state === "active" ? colours.green : colours.red),
  },
  { header: "MODELS", cell: (key) => (key.models.length === 0 ? "all" : key.models.join(",")) },
  { header: "LIMITS", cell: limitWords },
  { header: "BUDGET LEFT", cell: budgetWords },
  { header: "EXPIRES", cell: (key) => expiry(key.expiresAt, now), ticks: true },
  { header: "AGE", cell: (key) => ageOf(key.createdAt, now), right: true, ticks: true },
  { header: "ID", cell: (key) => key.id, wide: true },
  { header: "CREATED BY", cell: (key) => key.createdBy, wide: true },
];

function limitWords({ limits }: Key): string {
  if (limits === undefined) return "none";
  const words: readonly (readonly [number, string])[] = [
    [limits.requestsPerMinute, "requests/min"],
    [limits.tokensPerMinute, "tokens/min"],
    [limits.concurrency, "at once"],
    [limits.tokensPerDay, "tokens/day"],
    [limits.tokensPerMonth, "tokens/month"],
  ];
  const set = words.filter(([limit]) => limit > 0).map(([limit, unit]) => `${String(limit)} ${unit}`);
  return set.length === 0 ? "none" : set.join(", ");
}

function budgetWords({ limits, dayTokens, monthTokens }: Key): string {
  const budgets: readonly (readonly [number, number, string])[] = [
    [limits?.tokensPerDay ?? 0, dayTokens, "today"],
    [limits?.tokensPerMonth ?? 0, monthTokens, "this month"],
  ];
  return budgets
    .filter(([most]) => most > 0)
    .map(([most, used, time]) => `${String(Math.max(0, most - used))} ${time}`)
    .join(", ");
}
