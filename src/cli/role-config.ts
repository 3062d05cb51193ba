import type { ConfigProblem } from "../config/problem.ts";
import { renderProblems } from "../config/problem.ts";
import type { ConfigSource } from "../config/reader.ts";
import { LlmgwError } from "../core/errors.ts";
import { canonicalJson } from "../core/fingerprint.ts";
import { err, ok, type Result } from "../core/result.ts";
import { readConfigFile, readSecretFile } from "../platform/config-file.ts";
import type { Logger } from "../platform/logger.ts";
import type { Call } from "./command.ts";

/** How a role's configuration is read and shown. */
export interface ConfigKind<C> {
  readonly parse: (source: ConfigSource) => Result<C, readonly ConfigProblem[]>;
  /** What is in force, as the file would spell it. */
  readonly render: (config: C) => string;
}

/** The file that --config names. The parser cannot ask for it where a command of the same group goes without. */
export function configFile({ flags }: Call): string {
  const file = flags.text("config");
  if (file !== undefined) return file;
  throw new LlmgwError(
    "BAD_REQUEST",
    "Required option '-c, --config <file>' not specified (llmgw agent --help explains it)",
  );
}

/** Reads the file that --config names; the error names every problem of it, one a line. */
async function loadConfig<C>(call: Call, kind: ConfigKind<C>): Promise<Result<C, string>> {
  const file = configFile(call);
  const text = await readConfigFile(file);
  if (!text.ok) return err(`${text.error}.`);
  const parsed = kind.parse({ text: text.value, file, env: call.io.env, readSecret: readSecretFile });
  return parsed.ok ? ok(parsed.value) : err(renderProblems(parsed.error));
}

/** The configuration, or an end with exit code 2. */
export async function requireConfig<C>(call: Call, kind: ConfigKind<C>): Promise<C> {
  const loaded = await loadConfig(call, kind);
  if (loaded.ok) return loaded.value;
  throw new LlmgwError("BAD_CONFIG", `the configuration cannot be used:\n${loaded.error}`);
}

interface RunningConfig<C> {
  readonly inForce: C;
  readonly logger: Logger;
  /** Puts in force what can be while the role runs; returns what is in force then. */
  readonly take: (next: C) => C;
}

/** Re-reads the file after SIGHUP, logs what it changes and what needs a restart, and returns what is in force. */
export async function reloadConfig<C extends object>(
  call: Call,
  kind: ConfigKind<C>,
  running: RunningConfig<C>,
): Promise<C> {
  const { inForce, logger, take } = running;
  const loaded = await loadConfig(call, kind);
  if (!loaded.ok) {
    logger.error(`SIGHUP: the new configuration cannot be used, the old one stays in force:\n${loaded.error}`);
    return inForce;
  }
  const taken = take(loaded.value);
  const done = changedKeys(inForce, taken);
  const waiting = changedKeys(taken, loaded.value);
  if (done.length > 0) logger.info({ keys: done }, `SIGHUP: in force from now on: ${done.join(", ")}`);
  if (waiting.length > 0)
    logger.warn(
      { keys: waiting },
      `SIGHUP: the configuration has changed; a restart is needed for: ${waiting.join(", ")}`,
    );
  if (done.length + waiting.length === 0)
    logger.info("SIGHUP: the configuration has been read again and is the one in force");
  return taken;
}

/** Top-level keys that hold something else, a secret that was read from a file or a variable included. */
export function changedKeys(before: object, after: object): readonly string[] {
  const [old, now] = [
    new Map<string, unknown>(Object.entries(before)),
    new Map<string, unknown>(Object.entries(after)),
  ];
  const keys = new Set([...old.keys(), ...now.keys()]);
  return [...keys].filter((key) => canonicalJson(old.get(key) ?? null) !== canonicalJson(now.get(key) ?? null));
}
