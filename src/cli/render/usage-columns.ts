import type { UsageRow } from "../../wire/gen/llmgw/v1/usage_pb.js";
import type { Column } from "./table.ts";

export type UsageGroup = "key" | "model" | "day";

const GROUPS: Readonly<Record<UsageGroup, Column<UsageRow>>> = {
  day: { header: "DAY", cell: (row) => row.day },
  // Requests at a router that asks for no keys are nobody's.
  key: { header: "KEY", cell: (row) => row.keyName },
  model: { header: "MODEL", cell: (row) => row.model },
};

const count = (header: string, of: (row: UsageRow) => number): Column<UsageRow> => ({
  header,
  cell: (row) => String(of(row)),
  right: true,
});

/** Exact numbers: they end in bills. */
export const usageColumns = (by: readonly UsageGroup[]): readonly Column<UsageRow>[] => [
  ...by.map((group) => GROUPS[group]),
  count("REQUESTS", (row) => row.requests),
  count("PROMPT", (row) => row.promptTokens),
  count("CACHED", (row) => row.cachedTokens),
  count("COMPLETION", (row) => row.completionTokens),
  count("TOTAL", (row) => row.promptTokens + row.completionTokens),
  count("ESTIMATED", (row) => row.estimated),
  ...(by.includes("key") ? [{ header: "KEY ID", cell: (row: UsageRow) => row.keyId, wide: true }] : []),
];

/** As RFC 4180 has it, with a header: every column, in the same order as the table. */
export function usageCsv(by: readonly UsageGroup[], rows: readonly UsageRow[]): string {
  const columns = usageColumns(by);
  const head = columns.map(({ header }) => header.toLowerCase().replace(" ", "_"));
  const lines = rows.map((row) => columns.map(({ cell }) => csvCell(cell(row))));
  return [head, ...lines].map((line) => `${line.join(",")}\r\n`).join("");
}

/** A cell that begins as a formula does would be one in a spreadsheet: names are the clients' and operators' to choose. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
