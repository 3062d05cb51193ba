import { z } from "zod";
import { fields, show } from "./fields.ts";
import { resolve, type Surroundings } from "./resolve.ts";
import { itemOf, keysOf, peel } from "./schema-parts.ts";
import { type Found, locate, type Path, pathText, type Tree } from "./tree.ts";
import { guessKey } from "./unknown-key.ts";

/** What has been read so far: anything that is wrong or missing is undefined. */
export type Loose<T> = T extends string | number | boolean | undefined
  ? T | undefined
  : T extends readonly (infer Item)[]
    ? readonly (Loose<Item> | undefined)[]
    : { readonly [K in keyof T]?: Loose<T[K]> | undefined };

export interface Circumstances extends Surroundings {
  /** Part of the file could not be read, so what seems to be missing may be written. */
  readonly partial: boolean;
}

interface Check extends Circumstances {
  readonly root: z.core.$ZodType;
  readonly tree: Tree;
  readonly found: Found[];
}

/** Checks the whole tree against the schema and goes on after every problem. Without problems the value is complete. */
export function checkTree<S extends z.ZodType>(
  schema: S,
  tree: Tree,
  circumstances: Circumstances,
): { readonly value: Loose<z.output<S>>; readonly found: readonly Found[] } {
  const check: Check = { ...circumstances, root: schema, tree, found: [] };
  // A file that is no map at all has told nothing yet.
  const value = read(schema, { tree, path: [] }, check) ?? {};
  return { value: value as Loose<z.output<S>>, found: check.found };
}

interface Spot<T extends Tree = Tree> {
  readonly tree: T;
  readonly path: Path;
}

/** Undefined, so that the caller can hand it on as the value that could not be read. */
function report(check: Check, path: Path, message: string): unknown {
  // Leaves speak in one sentence; what was meant is shown apart.
  const cut = message.indexOf("; did you mean ");
  const [said, hint] = cut < 0 ? [message, ""] : [message.slice(0, cut), message.slice(cut + 2)];
  const text = path.length === 0 ? `the file ${said}` : `${pathText(path)} ${said}`;
  check.found.push({ at: locate(check.tree, path), path, message: text, hint });
  return undefined;
}

function read(schema: z.core.$ZodType, spot: Partial<Spot> & Pick<Spot, "path">, check: Check): unknown {
  const { tree, path } = spot;
  const { inner, presence } = peel(schema);
  if (tree !== undefined && (tree.kind !== "scalar" || tree.value !== null)) {
    return readPresent(inner, { tree, path }, check);
  }
  if (presence.kind === "default") return z.parse(inner, presence.input);
  if (presence.kind === "optional" || check.partial) return undefined;
  return report(check, path, tree === undefined ? "is missing" : "has no value");
}

function readPresent(inner: z.core.$ZodType, { tree, path }: Spot, check: Check): unknown {
  if (inner instanceof z.ZodUnion) return readUnion(inner, { tree, path }, check);
  const wanted = shapeOf(inner);
  if (tree.kind !== wanted) {
    const seen = tree.kind === "scalar" ? show(tree.value) : NAMES[tree.kind];
    return report(check, path, `must be ${phraseOf(inner)}, but is ${seen}`);
  }
  if (tree.kind === "scalar") return readLeaf(inner, { tree, path }, check);
  if (tree.kind === "list") return inner instanceof z.ZodArray ? readList(inner, { tree, path }, check) : undefined;
  if (inner instanceof z.ZodRecord) return readRecord(inner, { tree, path }, check);
  return inner instanceof z.ZodObject ? readMap(inner, { tree, path }, check) : undefined;
}

const NAMES = { map: "a map of keys", list: "a list", scalar: "a single value" } as const;

function shapeOf(schema: z.core.$ZodType): Tree["kind"] {
  if (schema instanceof z.ZodArray) return "list";
  return schema instanceof z.ZodObject || schema instanceof z.ZodRecord ? "map" : "scalar";
}

const phraseOf = (schema: z.core.$ZodType): string => fields.get(schema)?.phrase ?? NAMES[shapeOf(schema)];

type MapTree = Extract<Tree, { readonly kind: "map" }>;
type ListTree = Extract<Tree, { readonly kind: "list" }>;
type ScalarTree = Extract<Tree, { readonly kind: "scalar" }>;

function readMap(schema: z.ZodObject, { tree, path }: Spot<MapTree>, check: Check): unknown {
  const keys = keysOf(schema);
  const known = keys.map(([key]) => key);
  for (const { key, at } of tree.entries) {
    if (known.includes(key)) continue;
    const full = [...path, key];
    const hint = guessKey(key, known, check.root);
    check.found.push({ at, path: full, message: `${pathText(full)} is not a known key`, hint });
  }
  const values = new Map(tree.entries.map(({ key, value }) => [key, value]));
  return collect(
    keys.map(([key, inner]) => {
      const value = values.get(key);
      const here = [...path, key];
      return [key, read(inner, value === undefined ? { path: here } : { tree: value, path: here }, check)];
    }),
  );
}

function readRecord(schema: z.ZodRecord, { tree, path }: Spot<MapTree>, check: Check): unknown {
  return collect(
    tree.entries.map(({ key, at, value }) => {
      const full = [...path, key];
      const name = z.safeParse(schema.keyType, key);
      if (!name.success) {
        const message = `the key "${key}" in ${pathText(path)} ${name.error.issues[0]?.message ?? "is wrong"}`;
        check.found.push({ at, path: full, message, hint: "" });
      }
      return [key, read(schema.valueType, { tree: value, path: full }, check)];
    }),
  );
}

const collect = (pairs: readonly (readonly [string, unknown])[]): unknown =>
  Object.fromEntries(pairs.filter(([, value]) => value !== undefined));

function readList(schema: z.ZodArray, { tree, path }: Spot<ListTree>, check: Check): unknown {
  const mayBeEmpty = z.safeParse(schema, []).success;
  if (tree.items.length === 0 && !mayBeEmpty) return report(check, path, "must not be an empty list");
  return tree.items.map((item, index) => read(itemOf(schema), { tree: item, path: [...path, index] }, check));
}

function readUnion(schema: z.ZodUnion, { tree, path }: Spot, check: Check): unknown {
  const chosen = schema.options.find((option) => shapeOf(option) === tree.kind);
  if (chosen !== undefined) return readPresent(chosen, { tree, path }, check);
  const forms = schema.options.map((option) => phraseOf(option)).join(", or ");
  return report(check, path, `must be ${forms}, but is ${NAMES[tree.kind]}`);
}

function readLeaf(schema: z.core.$ZodType, { tree, path }: Spot<ScalarTree>, check: Check): unknown {
  const raw = resolve(tree.value, fields.get(schema), check);
  if (!raw.ok) {
    for (const message of raw.error) report(check, path, message);
    return undefined;
  }
  const parsed = z.safeParse(schema, raw.value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) report(check, path, issue.message);
  return undefined;
}
