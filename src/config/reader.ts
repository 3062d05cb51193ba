import type { z } from "zod";
import { err, ok, type Result } from "../core/result.ts";
import { checkTree, type Circumstances, type Loose } from "./check.ts";
import { decodeText } from "./file-text.ts";
import { type ConfigProblem, type DeepReadonly } from "./problem.ts";
import { type Environment } from "./substitute.ts";
import { type Documents, readYaml } from "./syntax.ts";
import { type Found, locate, type Path, pathText, TOP, type Tree } from "./tree.ts";

/** A configuration file and the little of the world that it may look at. */
export interface ConfigSource {
  /** As it lies on disk. */
  readonly text: string | Uint8Array;
  /** Named in every problem. */
  readonly file: string;
  readonly env: Environment;
  /** Reads a `file:/path` secret; the error says why it cannot be read. */
  readonly readSecret: (path: string) => Result<string, string>;
}

/** A rule over several keys that did not hold. */
export interface Violation {
  readonly path: Path;
  /** A whole sentence without its full stop. */
  readonly message: string;
  readonly hint?: string;
}

/** Rules see what could be read, so that they speak up although something else is wrong. */
type Rules<S extends z.ZodType> = (value: Loose<z.output<S>>) => readonly Violation[];

export interface ReadDocument<S extends z.ZodType> {
  readonly value: Loose<z.output<S>>;
  readonly found: readonly Found[];
}

export interface Kind<S extends z.ZodType> {
  readonly schema: S;
  readonly rules: Rules<S>;
}

/** One document against its schema and its rules. Without problems the value is complete. */
export function readDocument<S extends z.ZodType>(
  { schema, rules }: Kind<S>,
  tree: Tree,
  circumstances: Circumstances,
): ReadDocument<S> {
  const { value, found } = checkTree(schema, tree, circumstances);
  // Rules compare keys: with some of them unread they would compare defaults that nobody chose.
  const violations = circumstances.partial ? [] : rules(value);
  const broken = violations.map(({ path, message, hint = "" }): Found => {
    return { at: locate(tree, path), path, message, hint };
  });
  return { value, found: [...found, ...broken] };
}

const EMPTY: Tree = { kind: "map", at: TOP, entries: [] };

/** The documents of a file and what is wrong with it as a text. */
export function readTrees(text: string | Uint8Array): Documents {
  const decoded = decodeText(text);
  if (decoded.ok) return readYaml(decoded.value);
  const message = `the file ${decoded.error}`;
  return { trees: [], partial: true, found: [{ at: TOP, path: [], message, hint: "" }] };
}

/** Reads a file that holds one configuration; every problem of the file comes back at once. */
export function readConfig<S extends z.ZodType>(
  kind: Kind<S>,
  source: ConfigSource,
): Result<DeepReadonly<z.output<S>>, readonly ConfigProblem[]> {
  const { trees, partial, found } = readTrees(source.text);
  const [tree = EMPTY, second] = trees;
  const { env, readSecret } = source;
  const read = readDocument(kind, tree, { env, readSecret, partial });
  const all = [...found, ...read.found];
  if (second !== undefined) {
    const hint = "the second begins here, and a configuration is one";
    all.push({ at: second.at, path: [], message: "the file holds several documents", hint });
  }
  if (all.length > 0) return err(asProblems(source.file, all));
  // Nothing was found, so nothing is missing: Loose and complete are the same value.
  return ok(read.value as DeepReadonly<z.output<S>>);
}

/** In the order of the file. */
export function asProblems(file: string, found: readonly Found[]): readonly ConfigProblem[] {
  return found
    .map(({ at, path, message, hint }) => ({
      file,
      line: at.line,
      column: at.column,
      path: pathText(path),
      message,
      hint,
    }))
    .toSorted((a, b) => a.line - b.line || a.column - b.column);
}
