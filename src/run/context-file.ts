import {
  type ContextFile,
  type ControlPlaneContext,
  parseContexts,
  renderContexts,
  withContext,
} from "../config/contexts.ts";
import { LlmgwError } from "../core/errors.ts";
import { readTextIfThere, writeFileAtomic } from "../platform/files.ts";

/** Only its owner may read it: it holds tokens. */
const MODE = 0o600;

/** No file is an empty one; a file that cannot be understood is an error, never overwritten. */
export async function readContextFile(path: string): Promise<ContextFile> {
  const parsed = parseContexts((await readTextIfThere(path)) ?? "");
  if (parsed.ok) return parsed.value;
  throw new LlmgwError("BAD_CONFIG", `The context file ${path} cannot be used: ${parsed.error.join("; ")}`);
}

/** Adds or replaces the context and makes it the current one. */
export async function saveContext(path: string, name: string, context: ControlPlaneContext): Promise<void> {
  const file = withContext(await readContextFile(path), name, context);
  await writeFileAtomic(path, renderContexts(file), MODE);
}
