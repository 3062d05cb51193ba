import { LOG_LEVELS, type LogFormat, type LogLevel } from "../platform/logger.ts";
import type { Call } from "./command.ts";
import { isTerminal } from "./io.ts";

export interface LogSettings {
  readonly level: LogLevel;
  readonly format: LogFormat;
}

/** --log-level and --log-format, else the caller's level and what suits where stderr goes. */
export function logSettings(call: Call, usual: LogLevel): LogSettings {
  const asked = call.flags.text("log-level");
  const format = call.flags.text("log-format") ?? (isTerminal(call.io.stderr) ? "pretty" : "json");
  return {
    level: LOG_LEVELS.find((level) => level === asked) ?? usual,
    format: format === "pretty" ? "pretty" : "json",
  };
}
