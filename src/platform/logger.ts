import { Writable } from "node:stream";
import { type Logger, pino } from "pino";
import { quoted } from "../core/json-text.ts";
import { HIDDEN, withoutSecretForms } from "../core/secret-forms.ts";

export type { Logger };

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = "pretty" | "json";

/** Whatever a field of one of these names holds is never written, down to the third level. */
const SECRET_FIELDS = [
  ...["apiKey", "api_key", "token", "authorization", "password", "join_token", "joinToken", "key", "secret"],
  ...["proxy-authorization", "x-api-key", "cookie"],
];
const REDACT = SECRET_FIELDS.map((field) => `["${field}"]`).flatMap((field) => [field, `*${field}`, `*.*${field}`]);

/**
 * Logs go to stderr: stdout belongs to what a command was asked for. Who draws progress bars there passes `write`, so that
 * no line lands in the middle of one.
 */
export async function createLogger(
  level: LogLevel,
  format: LogFormat,
  write?: (text: string) => void,
): Promise<Logger> {
  const hooks = { streamWrite: withoutSecretsInLine };
  const options = { level, redact: { paths: REDACT, censor: HIDDEN }, base: null, hooks };
  const sink = write === undefined ? undefined : writable(write);
  if (format === "json") return pino({ ...options, timestamp: isoTime }, sink ?? new LineBatch());
  const { default: pretty } = await import("pino-pretty");
  const look = { sync: true, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname" };
  return pino(options, pretty({ ...look, destination: sink ?? 2 }));
}

/**
 * Lines of level info that come by the thousand and whose fields are the program's own: what `info` writes, without a look for
 * secrets by their names, which takes 65 µs a line, and without what makes a logger fit for anything. Texts are looked at all
 * the same.
 */
export class InfoLines {
  readonly #logger: Logger;
  readonly #stream: Inside[typeof pino.symbols.streamSym];
  readonly #time: () => string;
  readonly #begin: string;
  readonly #rest: string;
  /** Fields by their names and their texts. */
  readonly #known = new Map<string, Map<string, string>>();

  constructor(logger: Logger) {
    this.#logger = logger;
    const { [pino.symbols.streamSym]: stream, [pino.symbols.timeSym]: time } = logger as unknown as Inside;
    this.#stream = stream;
    this.#time = time;
    this.#begin = `{"level":${String(pino.levels.values["info"])}`;
    const bound = withoutSecretForms(JSON.stringify(logger.bindings()).slice(1, -1));
    this.#rest = bound === "" ? "" : `,${bound}`;
  }

  /** Whether lines are written at all: where they are not, their fields need not be made. */
  get isOn(): boolean {
    return this.#logger.isLevelEnabled("info");
  }

  /** `fields`: JSON as this makes it, each with a comma before it. */
  write(fields: string, message: string): void {
    const line = `${this.#begin}${this.#time()}${this.#rest}${fields}${this.text("msg", message)}}\n`;
    if (this.#stream instanceof LineBatch) this.#stream.writeSoon(line);
    else this.#stream.write(line);
  }

  /** A field whose text is one of few, such as a model or a path. "" for one that is not there. */
  text(name: string, text: string | undefined): string {
    if (text === undefined) return "";
    if (text.length > LONGEST_KNOWN) return fieldOf(name, text);
    const known = this.#known.get(name) ?? this.#knownOf(name);
    let field = known.get(text);
    if (field !== undefined) return field;
    // In one piece: what was put together is walked through again in each line.
    field = Buffer.from(fieldOf(name, text)).toString();
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(text, field);
    return field;
  }

  /** A field whose text is another one in each line. "" for one that is not there. */
  id(name: string, text: string | undefined): string {
    return text === undefined ? "" : fieldOf(name, text);
  }

  #knownOf(name: string): Map<string, string> {
    const known = new Map<string, string>();
    this.#known.set(name, known);
    return known;
  }

  /** A finite number. */
  number(name: string, value: number | undefined): string {
    return value === undefined ? "" : `,"${name}":${String(value)}`;
  }
}

/** As JSON, without secrets. */
const fieldOf = (name: string, text: string): string => `,"${name}":${quoted(withoutSecretForms(text))}`;

/** Longer texts are words about one request. */
const LONGEST_KNOWN = 32;
/** Of one field: as many as a large router has keys. */
const MOST_KNOWN = 16_384;

interface Inside {
  readonly [pino.symbols.streamSym]: LineBatch | { write(line: string): void };
  /** A field of the time, with the comma before it. */
  readonly [pino.symbols.timeSym]: () => string;
}

/** How long a line may wait that comes by the thousand. */
const SOON_MS = 50;
/** Bytes of lines that wait: before there are more they are written. */
const MOST_WAITING = 65_536;
/** Of UTF-8, for one unit of UTF-16. */
const MOST_BYTES_PER_UNIT = 3;

/** What the library's types leave out. */
interface ByteSink {
  write(bytes: Buffer): boolean;
}

/**
 * Lines of one turn of the event loop go out in one write, and those that come by the thousand wait for each other a little
 * longer. All keep their order, and what is left goes out when the process ends by itself. They wait as bytes: the pieces of a
 * text that is put together are found fastest while they are new.
 */
class LineBatch {
  // Of texts this counts the bytes again and writes 16 KiB at a time: five times slower.
  readonly #stderr = pino.destination({ fd: 2, sync: true, contentMode: "buffer" }) as unknown as ByteSink;
  #waiting: Buffer | undefined;
  #bytes = 0;
  #isDue = false;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    process.once("exit", this.#flush);
  }

  write(line: string): void {
    this.#add(line);
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#flush);
  }

  writeSoon(line: string): void {
    this.#add(line);
    this.#timer ??= setTimeout(this.#flush, SOON_MS);
  }

  #add(line: string): void {
    const most = line.length * MOST_BYTES_PER_UNIT;
    if (this.#bytes + most > MOST_WAITING) this.#flush();
    if (most > MOST_WAITING) this.#stderr.write(Buffer.from(line));
    else {
      this.#waiting ??= Buffer.allocUnsafeSlow(MOST_WAITING);
      this.#bytes += this.#waiting.write(line, this.#bytes);
    }
  }

  readonly #flush = (): void => {
    // A copy: what cannot be written at once is kept until it can.
    const lines = Buffer.from(this.#waiting?.subarray(0, this.#bytes) ?? "");
    this.#bytes = 0;
    this.#isDue = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (lines.length > 0) this.#stderr.write(lines);
  };
}

/** The time as a field of a line: of many lines it is the same, and of most its second. */
let field = { at: Number.NaN, second: Number.NaN, upToMs: "", text: "" };

/** As pino asks for it. */
function isoTime(): string {
  const now = Date.now();
  if (now !== field.at) {
    const ms = now % 1000;
    const second = now - ms;
    const upToMs = second === field.second ? field.upToMs : `,"time":"${new Date(now).toISOString().slice(0, 20)}`;
    field = { at: now, second, upToMs, text: `${upToMs}${String(ms).padStart(3, "0")}Z"` };
  }
  return field.text;
}

/** Words hold secrets too: a proxy's address in an error, a key in what a client was refused for. About 2 µs a line. */
function withoutSecretsInLine(line: string): string {
  const clean = withoutSecretForms(line);
  return clean === line || isJson(clean) ? clean : `${JSON.stringify({ ...headOf(line), msg: HIDDEN })}\n`;
}

/** Half a private key may have no end, and then takes the line's own end with it. */
function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function headOf(line: string): { readonly level: unknown; readonly time: unknown } {
  const { level, time } = JSON.parse(line) as { readonly level?: unknown; readonly time?: unknown };
  return { level, time };
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
