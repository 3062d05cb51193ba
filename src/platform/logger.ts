import { type Logger, pino } from "pino";

export type { Logger };

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = "pretty" | "json";

/** Whatever a field of one of these names holds is never written. */
const SECRET_FIELDS = ["apiKey", "api_key", "token", "authorization", "password", "join_token", "joinToken", "key"];
const REDACT = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);

/** Logs go to stderr: stdout belongs to what a command was asked for. */
export async function createLogger(level: LogLevel, format: LogFormat): Promise<Logger> {
  const options = { level, redact: { paths: REDACT, censor: "[hidden]" }, base: null };
  if (format === "json") {
    return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ fd: 2, sync: true }));
  }
  const { default: pretty } = await import("pino-pretty");
  return pino(options, pretty({ destination: 2, sync: true, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname" }));
}

export const silentLogger: Logger = pino({ level: "silent" });
