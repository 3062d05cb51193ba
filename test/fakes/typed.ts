import { runCommand } from "../../src/cli/main.ts";
import { millis } from "../../src/core/ids.ts";

export interface Typing {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Undefined: a pipe. */
  readonly terminal?: { readonly columns: number; readonly rows: number };
  /** What ages are counted to, in milliseconds since 1970. */
  readonly now?: number;
}

export interface Typed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A person without any context file who types a command and reads what comes. */
export async function typed(argv: readonly string[], typing: Typing = {}): Promise<Typed> {
  const { terminal, stdin: text = "", now } = typing;
  const written = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") => ({
    ...(terminal === undefined ? {} : { isTTY: true, ...terminal }),
    write: (part: string) => {
      written[name] += part;
      return true;
    },
  });
  const source = (async function* () {
    yield await Promise.resolve(text);
  })();
  const stdin = Object.assign(source, terminal === undefined ? {} : { isTTY: true });
  const env = { HOME: "/nonexistent", XDG_CONFIG_HOME: "/nonexistent", ...typing.env };
  const ages = now === undefined ? {} : { now: () => millis(now) };
  const code = await runCommand(argv, { env, stdin, stdout: stream("stdout"), stderr: stream("stderr"), ...ages });
  return { code, ...written };
}
