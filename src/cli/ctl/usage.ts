import { parseDuration } from "../../config/duration.ts";
import { LlmgwError } from "../../core/errors.ts";
import { type Millis, millis } from "../../core/ids.ts";
import { dayFromText, dayOf, dayText } from "../../core/usage.ts";
import { systemClock } from "../../platform/clock.ts";
import { GetUsageResponseSchema, UsageRowSchema } from "../../wire/gen/llmgw/v1/usage_pb.js";
import type { Call, CommandSpec } from "../command.ts";
import { OUTPUTS } from "../options.ts";
import { type UsageGroup, usageColumns, usageCsv } from "../render/usage-columns.ts";
import { showList } from "./listing.ts";
import { withSession } from "./session.ts";

const GROUPS: readonly UsageGroup[] = ["key", "model", "day"];

export const usage: CommandSpec = {
  name: "usage",
  summary: "say who used how many tokens of what",
  details: [
    "Tokens as the engines counted them, the cached ones among those of the prompt. ESTIMATED is the number of requests whose answer was cut off before the engine had said its counts: theirs are made from what was sent.",
    "Days are those of UTC. A request is counted on the day it ends, within about a second.",
  ].join("\n\n"),
  options: [
    {
      flags: "--by <groups>",
      doc: "key, model and day in the order wanted, with commas between them (default: key,model); total for one row",
    },
    {
      flags: "--since <day>",
      doc: "from this day on: 2026-10-17, or how long ago such as 7d (default: all that is kept)",
    },
    { flags: "--until <day>", doc: "up to this day and with it" },
    { flags: "--of <key>", doc: "only of this client key, by its name or id", completes: ["key"] },
    { flags: "--model <name>", doc: "only of this model", completes: ["model"] },
    {
      flags: "-o, --output <format>",
      doc: "table (default), wide, json, yaml, csv or name; json is exactly one document on stdout",
      choices: [...OUTPUTS, "csv"],
    },
  ],
  examples: [
    { line: "llmgw ctl usage --since 7d", doc: "the last week, by key and model" },
    { line: "llmgw ctl usage --by key,day --since 2026-10-01 -o csv", doc: "a month for a spreadsheet" },
    { line: "llmgw ctl usage --by day --model qwen3-32b", doc: "one model, day by day" },
  ],
  run: showUsage,
};

async function showUsage(call: Call): Promise<number> {
  const now = call.io.now?.() ?? systemClock.now();
  const by = groupsOf(call.flags.textOr("by", "key,model"));
  const asked = {
    by: [...by],
    since: dayAsked(call, "since", now),
    until: dayAsked(call, "until", now),
    key: call.flags.textOr("of", "").replace(/^key\//, ""),
    model: call.flags.textOr("model", "").replace(/^model\//, ""),
  };
  return withSession(call, async ({ client }) => {
    if (call.flags.text("output") === "csv") {
      const { rows } = await client.getUsage(asked);
      call.io.stdout.write(usageCsv(by, rows));
      return 0;
    }
    return showList(call, client, {
      answer: GetUsageResponseSchema,
      item: UsageRowSchema,
      ask: (it, signal) => it.getUsage(asked, { signal }),
      rows: (answer) => answer.rows,
      columns: () => usageColumns(by),
      name: (row) => by.map((group) => `${group}/${nameOf(row, group)}`).join(" ") || "total",
      empty: "Nothing has been used in that time.",
    });
  });
}

const nameOf = (row: { keyName: string; model: string; day: string }, group: UsageGroup): string =>
  ({ key: row.keyName, model: row.model, day: row.day })[group];

function groupsOf(text: string): readonly UsageGroup[] {
  if (text === "total") return [];
  const words = text.split(",").map((word) => word.trim());
  return [...new Set(words)].map((word) => {
    const group = GROUPS.find((one) => one === word);
    if (group !== undefined) return group;
    throw new LlmgwError(
      "BAD_REQUEST",
      `--by takes key, model and day with commas between them, or total, not "${text}".`,
    );
  });
}

/** "" when it is not given. */
function dayAsked(call: Call, name: "since" | "until", now: Millis): string {
  const text = call.flags.text(name);
  if (text === undefined || dayFromText(text) !== undefined) return text ?? "";
  const ago = parseDuration(text);
  if (ago.ok) return dayText(dayOf(millis(now - ago.value)));
  throw new LlmgwError("BAD_REQUEST", `--${name} takes a day as 2026-10-17 or how long ago as 7d, not "${text}".`);
}
