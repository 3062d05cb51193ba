import { LOG_LEVELS } from "../platform/logger.ts";
import type { ArgumentSpec, OptionSpec } from "./command.ts";

/** Every command takes these. */
export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  {
    flags: "--log-level <level>",
    doc: "how much to log on stderr (default: info; warn for up and ctl)",
    choices: LOG_LEVELS,
  },
  {
    flags: "--log-format <format>",
    doc: "how to log (default: pretty on a terminal, json otherwise)",
    choices: ["pretty", "json"],
  },
];

export const DATA_DIR: OptionSpec = {
  flags: "--data-dir <dir>",
  doc: "put every file below this folder, so that nothing needs root and copies run side by side",
};

export const CONFIG: OptionSpec = { flags: "-c, --config <file>", doc: "the configuration, YAML", required: true };

export const MANIFEST_FILES: OptionSpec = {
  flags: "-f, --file <file>",
  doc: "a manifest, a folder of them, or - for stdin; may be given several times",
  required: true,
  repeatable: true,
};

/** What a shell makes of `-f *.yaml`. */
export const MORE_FILES: ArgumentSpec = { form: "[file...]", doc: "more of them, so that -f *.yaml takes them all" };

export const CHECK: OptionSpec = {
  flags: "--check",
  doc: "only validate: print what is in force, defaults filled in and secrets hidden, and exit with 0 or 2",
};

export const OUTPUTS = ["table", "wide", "json", "yaml", "name"] as const;
export type Output = (typeof OUTPUTS)[number];

export const OUTPUT: OptionSpec = {
  flags: "-o, --output <format>",
  doc: "table (default), wide, json, yaml or name; json is exactly one document on stdout",
  choices: OUTPUTS,
};

/** For what is one thing and has no names to list. */
export const OUTPUT_PAGE: OptionSpec = {
  flags: "-o, --output <format>",
  doc: "table (default), json or yaml; json is exactly one document on stdout",
  choices: ["table", "json", "yaml"],
};

export const NODE_FILTER: OptionSpec = { flags: "--node <name>", doc: "only of this node", completes: ["node"] };

export const WATCH: OptionSpec = {
  flags: "-w, --watch",
  doc: "go on until Ctrl-C: redrawn in place on a terminal, else each change as it comes; with -o json one object a line",
};

export const TIMEOUT: OptionSpec = {
  flags: "--timeout <duration>",
  doc: "how long to wait, such as 90s or 5m (default: 30m); exit code 4 when it is over",
};
