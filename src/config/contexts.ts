import { LineCounter, parseDocument, stringify } from "yaml";
import { z } from "zod";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";

const Context = z
  .strictObject({
    server: z.url({ protocol: /^https?$/ }),
    token: z.string().optional(),
    /** A file with the certificate authority to trust. */
    ca: z.string().optional(),
    /** The files of a certificate that is shown in place of a token, and of its private key. */
    cert: z.string().optional(),
    key: z.string().optional(),
  })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), "cert and key go together");

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
  const value = readValue(text);
  if (!value.ok) return value;
  const parsed = Contexts.safeParse(value.value ?? {});
  if (!parsed.success) {
    return err(parsed.error.issues.map((issue) => `${issue.path.join(".") || "the file"}: ${issue.message}`));
  }
  return ok(parsed.data);
}

/** The parser throws where an alias stands for nothing or for too much, and where texts nest thousands deep. */
function readValue(text: string): Result<unknown, readonly string[]> {
  try {
    // The parser's own pretty words repeat the line, which may hold a token, and take minutes over many empty ones.
    const lineCounter = new LineCounter();
    const document = parseDocument(text, { uniqueKeys: true, logLevel: "error", prettyErrors: false, lineCounter });
    if (document.errors.length > 0) {
      return err(
        document.errors.map(({ pos: [at], message }) => `line ${String(lineCounter.linePos(at).line)}: ${message}`),
      );
    }
    // As maps: a key that is a map itself would be written out as a text, which takes minutes where such keys nest.
    return ok(asObject(document.toJS({ mapAsMap: true })));
  } catch (error) {
    return err([`this cannot be read as YAML: ${messageOf(error)}`]);
  }
}

function asObject(value: unknown): unknown {
  if (!(value instanceof Map)) return value;
  return Object.fromEntries(
    [...value].map(([key, held]) => {
      if (typeof key === "object" && key !== null) throw new Error("a list or a map is no name");
      return [String(key), asObject(held)];
    }),
  );
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
