import {
  type ContextFile,
  type ControlPlaneContext,
  parseContexts,
  renderContexts,
  withContext,
  withoutContext,
} from "../config/contexts.ts";
import { LlmgwError } from "../core/errors.ts";
import { millis } from "../core/ids.ts";
import { pause, systemClock } from "../platform/clock.ts";
import { readTextIfThere, writeFileAtomic } from "../platform/files.ts";
import { acquireLock, type Lock } from "../platform/lock.ts";

/** Only its owner may read it: it holds tokens. */
const MODE = 0o600;

/** No file is an empty one; a file that cannot be understood is an error, never overwritten. */
export async function readContextFile(path: string): Promise<ContextFile> {
  const parsed = parseContexts((await readTextIfThere(path)) ?? "");
  if (parsed.ok) return parsed.value;
  throw new LlmgwError("BAD_CONFIG", `The context file ${path} cannot be used: ${parsed.error.join("; ")}`);
}

/**
 * Adds or replaces the context and makes it the current one. The function takes it away again, unless somebody has changed
 * it meanwhile.
 */
export async function saveContext(
  path: string,
  name: string,
  context: ControlPlaneContext,
): Promise<() => Promise<void>> {
  let before: string | undefined;
  await change(path, (file) => {
    before = file.current;
    return withContext(file, name, context);
  });
  return () =>
    change(path, (file) => {
      const { server, token } = file.contexts[name] ?? {};
      const isOurs = server === context.server && token === context.token;
      return isOurs ? withoutContext(file, name, before) : file;
    });
}

/** Several control planes may start at once for one person: each reads what the one before it has written. */
async function change(path: string, alter: (file: ContextFile) => ContextFile): Promise<void> {
  const lock = await lockFor(path);
  try {
    const before = await readContextFile(path);
    const after = alter(before);
    if (after !== before) await writeFileAtomic(path, renderContexts(after), MODE);
  } finally {
    await lock.release();
  }
}

const TRIES = 200;
const AGAIN = millis(25);

async function lockFor(path: string): Promise<Lock> {
  let holder = 0;
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const lock = await acquireLock(`${path}.lock`);
    if (lock.ok) return lock.value;
    holder = lock.error.pid;
    await pause(systemClock, AGAIN);
  }
  throw new LlmgwError("CONFLICT", `The context file ${path} is held by process ${String(holder)}.`);
}
