import { Writable } from "node:stream";
import { type Logger, pino } from "pino";

export type { Logger };

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = "pretty" | "json";

/** Whatever a field of one of these names holds is never written. */
const SECRET_FIELDS = ["apiKey", "api_key", "token", "authorization", "password", "join_token", "joinToken", "key"];
const REDACT = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);

/**
 * Logs go to stderr: stdout belongs to what a command was asked for. Who draws progress bars there passes `write`, so that
 * no line lands in the middle of one.
 */
export async function createLogger(
  level: LogLevel,
  format: LogFormat,
  write?: (text: string) => void,
): Promise<Logger> {
  const options = { level, redact: { paths: REDACT, censor: "[hidden]" }, base: null };
  const sink = write === undefined ? undefined : writable(write);
  if (format === "json") {
    const destination = sink ?? pino.destination({ fd: 2, sync: true });
    return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  }
  const { default: pretty } = await import("pino-pretty");
  const look = { sync: true, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname" };
  return pino(options, pretty({ ...look, destination: sink ?? 2 }));
}

function writable(write: (text: string) => void): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      write(chunk.toString("utf8"));
      done();
    },
  });
}

export const silentLogger: Logger = pino({ level: "silent" });
