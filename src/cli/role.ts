import { keepCompiled } from "../platform/compile-cache.ts";
import { createLogger, type Logger } from "../platform/logger.ts";
import { notifyService } from "../platform/sd-notify.ts";
import type { Call } from "./command.ts";
import { logSettings } from "./log-settings.ts";
import { type ConfigKind, reloadConfig, requireConfig } from "./role-config.ts";
import { aborted, onHangup, stopSignal } from "./signals.ts";

/** A role that has started: how it ends when it is told to, and the end that comes by itself. */
interface RunningRole<C> {
  /** Reads again what may change while it runs, besides its configuration. */
  reload?(): void;
  /** Puts in force what it can of a configuration that was read again; returns what is in force then. */
  take?(next: C, inForce: C): C;
  stop(): Promise<void>;
  /** Rejects when the role cannot go on. Left out: it goes on until it is told to stop. */
  readonly done?: Promise<unknown>;
}

interface Role<C> {
  readonly kind: ConfigKind<C>;
  /** The paths whose default depends on where files go, filled in: for what is printed and for what is started. */
  readonly placed: (config: C) => C;
  readonly start: (config: C, logger: Logger) => Promise<RunningRole<C>>;
}

/** Runs a role until it is told to stop; with --check only says what would be in force. */
export async function runRole<C extends object>(call: Call, { kind, placed, start }: Role<C>): Promise<number> {
  const config = await requireConfig(call, kind);
  if (call.flags.given("check")) {
    call.io.stdout.write(kind.render(placed(config)));
    return 0;
  }
  const { level, format } = logSettings(call, "info");
  const logger = await createLogger(level, format);
  const stop = stopSignal(call.io, {
    onFirst: (signal) => {
      logger.info(`${signal}: stopping; a second one ends this at once`);
    },
  });
  const late: { role: RunningRole<C> | undefined; inForce: C } = { role: undefined, inForce: config };
  const reread = async (): Promise<void> => {
    const take = (next: C): C => late.role?.take?.(next, late.inForce) ?? late.inForce;
    late.inForce = await reloadConfig(call, kind, { inForce: late.inForce, logger, take });
  };
  onHangup(() => {
    void reread();
    late.role?.reload?.();
  });
  const role = await start(placed(config), logger);
  late.role = role;
  keepCompiled();
  await notifyService("READY=1", call.io.env);
  await Promise.race([aborted(stop), ...(role.done === undefined ? [] : [role.done])]);
  await notifyService("STOPPING=1", call.io.env);
  await role.stop();
  logger.info("stopped");
  return 0;
}
