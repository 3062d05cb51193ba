/** One thing that is wrong with a file, for the one who wrote it. */
export interface ConfigProblem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  /** Such as `fabrics[0].name`; "" for the file as a whole. */
  readonly path: string;
  /** A whole sentence without its full stop; it names the key. */
  readonly message: string;
  /** What was probably meant; "" when nothing comes to mind. */
  readonly hint: string;
}

/** One line each, file by file in the order of each file: `agent.yaml:3: … ; did you mean …?` */
export function renderProblems(problems: readonly ConfigProblem[]): string {
  return [...Map.groupBy(problems, ({ file }) => file).values()]
    .flatMap((ofFile) => ofFile.toSorted((a, b) => a.line - b.line || a.column - b.column))
    .map(({ file, line, message, hint }) => `${file}:${String(line)}: ${message}${hint === "" ? "" : `; ${hint}`}`)
    .join("\n");
}

/** A configuration is read once and then belongs to nobody. */
export type DeepReadonly<T> = T extends string | number | boolean | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? readonly DeepReadonly<Item>[]
    : { readonly [K in keyof T]: DeepReadonly<T[K]> };
