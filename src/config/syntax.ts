import { type Document, LineCounter, type Node, parseAllDocuments, type YAMLError } from "yaml";
import { messageOf } from "../core/errors.ts";
import { grow } from "./grow.ts";
import { indentOf, TAB_WIDTHS, tabProblem, withoutBlocks, withoutTabs } from "./tabs.ts";
import { type At, type Found, TOP, type Tree } from "./tree.ts";

export interface Documents {
  /** Empty when the file holds nothing, or nothing that can be trusted. */
  readonly trees: readonly Tree[];
  /** Something had to be left out, so what seems to be missing may be written. */
  readonly partial: boolean;
  readonly found: readonly Found[];
}

/**
 * Reads YAML 1.2 and goes on after a mistake where that is safe, so that everything wrong with a file shows in one run:
 * tabs used for indentation are read as spaces, and lines that are no YAML are left out with what hangs below them.
 */
export function readYaml(text: string): Documents {
  try {
    return readRepaired(text);
  } catch (error) {
    // The parser recurses: only a file nested thousands deep gets here.
    const message = `this cannot be read as YAML: ${messageOf(error)}`;
    return { trees: [], partial: true, found: [problem(TOP, message)] };
  }
}

const problem = (at: At, message: string, hint = ""): Found => ({ at, path: [], message, hint });

interface Parsed {
  readonly text: string;
  readonly documents: readonly Document.Parsed[];
  readonly lines: LineCounter;
  readonly errors: readonly { readonly at: At; readonly error: YAMLError }[];
}

function parse(text: string): Parsed {
  const lines = new LineCounter();
  const options = {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    version: "1.2",
    logLevel: "error",
  } as const;
  const parsed = parseAllDocuments(text, options);
  const documents = Array.isArray(parsed) ? parsed : [];
  const errors = documents
    .flatMap((document) => [...document.errors, ...document.warnings])
    .map((error) => {
      const { line, col } = lines.linePos(error.pos[0]);
      return { at: { line: Math.max(1, line), column: Math.max(1, col) }, error };
    });
  return { text, documents, lines, errors };
}

function readRepaired(text: string): Documents {
  const written = parse(text);
  const directives = directiveProblems(written);
  if (written.errors.length === 0) return documents(written, directives, false);
  const tabbed = tabProblems(written);
  const repaired = repairTabs(written, new Set(tabbed.keys()));
  const found = [...directives, ...tabbed.values(), ...syntaxProblems(repaired, tabbed)];
  if (repaired.errors.length === 0) return documents(repaired, found, false);
  const rest = parse(withoutBlocks(repaired.text, new Set(repaired.errors.map(({ at }) => at.line))));
  return rest.errors.length === 0 ? documents(rest, found, true) : { trees: [], partial: true, found };
}

function documents(parsed: Parsed, found: readonly Found[], partial: boolean): Documents {
  const grown = parsed.documents.map(({ contents }) => grow(contents as Node | null, parsed.lines));
  const trees = grown.map(({ tree }) => tree).filter((tree) => tree.kind !== "scalar" || tree.value !== null);
  return { trees, partial, found: [...found, ...grown.flatMap((one) => one.found)] };
}

/** By line: every error on a line that begins with a tab is that tab's fault. */
function tabProblems({ text, errors }: Parsed): ReadonlyMap<number, Found> {
  const lines = text.split("\n");
  const found = new Map<number, Found>();
  for (const { at, error } of errors) {
    const tab = indentOf(lines[at.line - 1] ?? "").indexOf("\t");
    if (error.code !== "TAB_AS_INDENT" && tab < 0) continue;
    found.set(at.line, tabProblem(at.line, tab < 0 ? at.column : tab + 1));
  }
  return found;
}

/** The reading with the fewest errors; the first of equals. */
function repairTabs(written: Parsed, tabbed: ReadonlySet<number>): Parsed {
  if (tabbed.size === 0) return written;
  const readings = TAB_WIDTHS.map((width) => parse(withoutTabs(written.text, tabbed, width)));
  return readings.reduce((best, next) => (next.errors.length < best.errors.length ? next : best));
}

/** The first error of each line: the parser's later ones are mostly echoes of it. */
function syntaxProblems({ text, errors }: Parsed, tabbed: ReadonlyMap<number, Found>): readonly Found[] {
  const lines = text.split("\n");
  const byLine = new Map<number, Found>();
  for (const { at, error } of errors) {
    if (byLine.has(at.line) || tabbed.has(at.line)) continue;
    byLine.set(at.line, explain(error, at, lines[at.line - 1] ?? ""));
  }
  return [...byLine.values()];
}

function directiveProblems(parsed: Parsed): readonly Found[] {
  return parsed.documents.flatMap(({ directives }) => {
    const { version, explicit } = directives.yaml;
    if (explicit !== true || version === "1.2") return [];
    const message = `this file says that it is YAML ${version}, but it is read as YAML 1.2`;
    return [problem(TOP, message, "remove the %YAML line")];
  });
}

const HINTS: Partial<Readonly<Record<YAMLError["code"], string>>> = {
  BLOCK_AS_IMPLICIT_KEY: 'put a value with ": " in it into quotes, or look at the indentation of the next line',
  BAD_SCALAR_START: "put the value in quotes",
  TAG_RESOLVE_FAILED: "leave the tag out, or put the value in quotes",
};

function explain(error: YAMLError, at: At, line: string): Found {
  const said = error.message.charAt(0).toLowerCase() + error.message.slice(1);
  const message = error.code === "BLOCK_AS_IMPLICIT_KEY" ? "a key stands inside a value" : said;
  const variable = /[[{,]/.test(line.split("${", 1)[0] ?? "") && line.includes("${");
  return problem(at, message, variable ? "put quotes around a value with ${…} in it" : (HINTS[error.code] ?? ""));
}
