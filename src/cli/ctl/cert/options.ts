import { resolve } from "node:path";
import { LlmgwError } from "../../../core/errors.ts";
import { systemClock } from "../../../platform/clock.ts";
import type { Made, Making } from "../../../pki/commands.ts";
import type { Call, OptionSpec } from "../../command.ts";
import { isDocument, outputOf, printDocument } from "../output.ts";
import { entryDocument } from "./entry-document.ts";

export const DIR: OptionSpec = {
  flags: "--dir <dir>",
  doc: "the authority's folder (default: the current one)",
};

export const FORCE: OptionSpec = { flags: "--force", doc: "write over files that are there" };

export const days = (usual: number): OptionSpec => ({
  flags: "--days <days>",
  doc: `how long it is valid (default: ${String(usual)})`,
});

export const dirOf = ({ flags }: Call): string => resolve(flags.textOr("dir", "."));

export const makingOf = (call: Call, usualDays: number): Making => ({
  dir: dirOf(call),
  days: daysOf(call, usualDays),
  force: call.flags.given("force"),
  now: systemClock.now(),
});

/** X.509 can write no year after 9999, and nobody means to. */
const MOST_DAYS = 36_500;

function daysOf({ flags }: Call, usual: number): number {
  const days = flags.integer("days", 1) ?? usual;
  if (days <= MOST_DAYS) return days;
  throw new LlmgwError("BAD_REQUEST", `--days takes at most ${String(MOST_DAYS)}, not ${String(days)}.`);
}

/** What was written, and the lines of configuration that name it. */
export function showMade(call: Call, made: Made, hint: string): number {
  const output = outputOf(call);
  const { certificate, key, entry } = made;
  if (isDocument(output)) {
    printDocument(call, output, { ...entryDocument(entry, systemClock.now()), certificate, key });
    return 0;
  }
  const until = new Date(entry.notAfter).toISOString().slice(0, 10);
  call.io.stdout.write(`${certificate}  valid until ${until}, serial ${entry.serial}\n${key}\n`);
  call.io.stderr.write(`${hint}\n`);
  return 0;
}
