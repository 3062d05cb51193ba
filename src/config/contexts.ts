import { parseDocument, stringify } from "yaml";
import { z } from "zod";
import { err, ok, type Result } from "../core/result.ts";

const Context = z.strictObject({
  server: z.url({ protocol: /^https?$/ }),
  token: z.string().optional(),
  /** A file with the certificate authority to trust. */
  ca: z.string().optional(),
});

const Contexts = z.strictObject({
  current: z.string().optional(),
  contexts: z.record(z.string(), Context).default({}),
});

/** A control plane that `llmgw ctl` knows by name. */
export type ControlPlaneContext = Readonly<z.output<typeof Context>>;

export interface ContextFile {
  readonly current?: string | undefined;
  readonly contexts: Readonly<Record<string, ControlPlaneContext>>;
}

/** The context file's text, or every problem in it. An empty file knows no control plane. */
export function parseContexts(text: string): Result<ContextFile, readonly string[]> {
  const document = parseDocument(text, { uniqueKeys: true });
  if (document.errors.length > 0) return err(document.errors.map((error) => error.message));
  const parsed = Contexts.safeParse(document.toJS() ?? {});
  if (!parsed.success) {
    return err(parsed.error.issues.map((issue) => `${issue.path.join(".") || "the file"}: ${issue.message}`));
  }
  return ok(parsed.data);
}

export const renderContexts = (file: ContextFile): string => stringify(file);

/** The file with the context in it and made the current one. */
export function withContext(file: ContextFile, name: string, context: ControlPlaneContext): ContextFile {
  return { current: name, contexts: { ...file.contexts, [name]: context } };
}

/** The file without the context, and with `current` as the current one if it is still known. */
export function withoutContext(file: ContextFile, name: string, current: string | undefined): ContextFile {
  const { [name]: removed, ...contexts } = file.contexts;
  if (removed === undefined) return file;
  const next = file.current === name ? current : file.current;
  return next !== undefined && contexts[next] !== undefined ? { current: next, contexts } : { contexts };
}
