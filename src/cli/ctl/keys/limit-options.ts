import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import { LlmgwError } from "../../../core/errors.ts";
import type { Millis } from "../../../core/ids.ts";
import type { KeyLimitsSchema } from "../../../wire/gen/llmgw/v1/common_pb.js";
import type { Flags, OptionSpec } from "../../command.ts";

export const LIMIT_OPTIONS: readonly OptionSpec[] = [
  {
    flags: "--models <names>",
    doc: "names that it may ask for, with commas between them (default: all); may be given several times",
    repeatable: true,
  },
  { flags: "--rpm <n>", doc: "requests per minute (default: no limit)" },
  { flags: "--tpm <n>", doc: "tokens per minute, prompt and completion together (default: no limit)" },
  { flags: "--concurrency <n>", doc: "requests at the same time, each to the end of its answer (default: no limit)" },
  {
    flags: "--budget <tokens/time>",
    doc: "tokens by the calendar in UTC, such as 200000/day or 5M/month; may be given once for each (default: no limit)",
    repeatable: true,
  },
  { flags: "--expires <duration>", doc: "end after so long, such as 12h or 30d (default: never)" },
];

export const modelsOf = (flags: Flags): readonly string[] =>
  flags.list("models").flatMap((list) =>
    list
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  );

/** 0 where nothing is said: no limit. */
export function limitsOf(flags: Flags): MessageInitShape<typeof KeyLimitsSchema> {
  const budgets = flags.list("budget").map(parseBudget);
  const tokens = (per: Budget["per"]): number => {
    const [one, ...more] = budgets.filter((budget) => budget.per === per);
    if (more.length > 0) throw new LlmgwError("BAD_REQUEST", `--budget names the tokens per ${per} twice.`);
    return one?.tokens ?? 0;
  };
  return {
    requestsPerMinute: flags.integer("rpm", 1) ?? 0,
    tokensPerMinute: flags.integer("tpm", 1) ?? 0,
    concurrency: flags.integer("concurrency", 1) ?? 0,
    tokensPerDay: tokens("day"),
    tokensPerMonth: tokens("month"),
  };
}

interface Budget {
  readonly tokens: number;
  readonly per: "day" | "month";
}

const FACTORS: Readonly<Record<string, number>> = { "": 1, k: 1_000, M: 1_000_000 };

function parseBudget(text: string): Budget {
  const [, digits = "", unit = "", per] = /^(\d{1,12})([kM]?)\/(day|month)$/.exec(text) ?? [];
  const tokens = Number(digits) * (FACTORS[unit] ?? 0);
  if ((per === "day" || per === "month") && tokens > 0) return { tokens, per };
  throw new LlmgwError(
    "BAD_REQUEST",
    `--budget takes tokens and a time, such as 200000/day or 5M/month, not "${text}".`,
  );
}

/** Undefined: never. */
export function expiryOf(flags: Flags, now: Millis): Timestamp | undefined {
  const duration = flags.duration("expires");
  if (duration === undefined) return undefined;
  if (duration === 0) throw new LlmgwError("BAD_REQUEST", "--expires 0s would make a key that has ended.");
  return timestampFromMs(now + duration);
}
