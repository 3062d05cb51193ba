import { isAlias, isMap, isScalar, isSeq, type LineCounter, type Node, type Pair, type YAMLMap } from "yaml";
import type { At, Entry, Found, Path, Tree } from "./tree.ts";

/** Anchors let a small file stand for a huge one; nothing of ours needs more than this. */
const MOST_NODES = 100_000;

interface Growth {
  readonly lines: LineCounter;
  readonly found: Found[];
  /** What an anchor stands for, once the value that carries it is complete: so nothing can hold itself. */
  readonly anchors: Map<string, Tree>;
  readonly weights: Map<Tree, number>;
}

/** A parsed YAML document becomes a tree; duplicate keys, unknown anchors and their like are put into `found`. */
export function grow(node: Node | null, lines: LineCounter): { readonly tree: Tree; readonly found: readonly Found[] } {
  const growth: Growth = { lines, found: [], anchors: new Map(), weights: new Map() };
  const tree = convert(node, [], growth);
  if ((growth.weights.get(tree) ?? 0) > MOST_NODES) {
    const message = `the file stands for more than ${String(MOST_NODES)} values`;
    growth.found.push({ at: tree.at, path: [], message, hint: "anchors repeat too much" });
    return { tree: nothing(tree.at), found: growth.found };
  }
  return { tree, found: growth.found };
}

const nothing = (at: At): Tree => ({ kind: "scalar", at, value: null });

function place(node: Node | null, { lines }: Growth): At {
  const { line, col } = lines.linePos(node?.range?.[0] ?? 0);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function convert(node: Node | null, path: Path, growth: Growth): Tree {
  const at = place(node, growth);
  if (isAlias(node)) return follow(node.source, at, { path, growth });
  const tree = build(node, path, growth);
  growth.weights.set(tree, weigh(tree, growth));
  if (node !== null && "anchor" in node && typeof node.anchor === "string") growth.anchors.set(node.anchor, tree);
  return tree;
}

function weigh(tree: Tree, { weights }: Growth): number {
  const children =
    tree.kind === "map" ? tree.entries.map(({ value }) => value) : tree.kind === "list" ? tree.items : [];
  return children.reduce((sum, child) => sum + (weights.get(child) ?? 1), 1);
}

function follow(source: string, at: At, { path, growth }: { readonly path: Path; readonly growth: Growth }): Tree {
  const target = growth.anchors.get(source);
  if (target !== undefined) return target;
  growth.found.push({ at, path, message: `*${source} is used, but no &${source} stands before it`, hint: "" });
  return nothing(at);
}

function build(node: Node | null, path: Path, growth: Growth): Tree {
  const at = place(node, growth);
  if (isMap(node)) return { kind: "map", at, entries: entriesOf(node, path, growth) };
  if (isSeq(node)) {
    const items = node.items.map((item, index) => convert(item as Node | null, [...path, index], growth));
    return { kind: "list", at, items };
  }
  if (!isScalar(node)) return nothing(at);
  const { value } = node;
  const known = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return { kind: "scalar", at, value: known ? value : null };
}

function entriesOf(map: YAMLMap, path: Path, growth: Growth): readonly Entry[] {
  const own = new Map<string, Entry>();
  const merged: Tree[] = [];
  const mergedAt: At[] = [];
  for (const pair of map.items as Pair<Node | null, Node | null>[]) {
    const at = place(pair.key, growth);
    const key = keyOf(pair.key);
    if (key === undefined) {
      growth.found.push({ at, path, message: "a key must be a plain word", hint: "" });
      continue;
    }
    const inner = [...path, key];
    const merges = key === "<<" && isScalar(pair.key) && pair.key.type === "PLAIN";
    const first = merges ? mergedAt[0] : own.get(key)?.at;
    if (first !== undefined) growth.found.push(twice(inner, at, first));
    const value = convert(pair.value, inner, growth);
    if (merges) {
      merged.push(value);
      mergedAt.push(at);
    } else if (first === undefined) own.set(key, { key, at, value });
  }
  return withMerged([...own.values()], merged, { path, growth });
}

function keyOf(key: Node | null): string | undefined {
  if (!isScalar(key)) return undefined;
  if (typeof key.value === "string") return key.value;
  return key.source === undefined || key.source === "" ? undefined : key.source;
}

function twice(path: Path, at: At, first: At): Found {
  const key = String(path.at(-1));
  const message = `the key ${key} is there twice, on line ${String(first.line)} and on line ${String(at.line)}`;
  return { at, path, message, hint: "keep one of them" };
}

/** Own keys win over merged ones, and an earlier merged map over a later one. */
function withMerged(
  own: readonly Entry[],
  merged: readonly Tree[],
  { path, growth }: { readonly path: Path; readonly growth: Growth },
): readonly Entry[] {
  const entries = new Map(own.map((entry) => [entry.key, entry]));
  for (const tree of merged.flatMap((value) => (value.kind === "list" ? value.items : [value]))) {
    if (tree.kind !== "map") {
      growth.found.push({ at: tree.at, path: [...path, "<<"], message: "<< can merge only maps", hint: "" });
      continue;
    }
    for (const entry of tree.entries) if (!entries.has(entry.key)) entries.set(entry.key, entry);
  }
  return [...entries.values()];
}
