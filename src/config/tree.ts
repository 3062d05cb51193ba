import type { Scalar } from "./fields.ts";

/** Counted from 1. */
export interface At {
  readonly line: number;
  readonly column: number;
}

/** The place of what concerns the whole file. */
export const TOP: At = { line: 1, column: 1 };

export type Path = readonly (string | number)[];

export interface Entry {
  readonly key: string;
  readonly at: At;
  readonly value: Tree;
}

/** What a YAML document holds, with the place of everything: anchors resolved, merges done. */
export type Tree =
  | { readonly kind: "map"; readonly at: At; readonly entries: readonly Entry[] }
  | { readonly kind: "list"; readonly at: At; readonly items: readonly Tree[] }
  | { readonly kind: "scalar"; readonly at: At; readonly value: Scalar | null };

/** A problem before it is known which file it is in. */
export interface Found {
  readonly at: At;
  readonly path: Path;
  readonly message: string;
  readonly hint: string;
}

/** `fabrics[0].name` */
export function pathText(path: Path): string {
  return path
    .map((part, index) => (typeof part === "number" ? `[${String(part)}]` : `${index === 0 ? "" : "."}${part}`))
    .join("");
}

/** Where the path leads, or the deepest part of it that is written. */
export function locate(tree: Tree, path: Path): At {
  let here = tree;
  let at = tree.at;
  for (const part of path) {
    if (here.kind === "map") {
      const entry: Entry | undefined = here.entries.find(({ key }) => key === part);
      if (entry === undefined) return at;
      at = entry.at;
      here = entry.value;
    } else if (here.kind === "list" && typeof part === "number") {
      const item: Tree | undefined = here.items[part];
      if (item === undefined) return at;
      at = item.at;
      here = item;
    } else {
      return at;
    }
  }
  return at;
}
