/** What a program's own arguments say, as it would read them: the last one counts. */
export interface Options {
  /** The value of "--name value" or "--name=value"; undefined when it is not there. */
  value(...names: readonly string[]): string | undefined;
  /** The value when it is a number, such as "8" or "0.85"; undefined for all else. */
  number(...names: readonly string[]): number | undefined;
  /** Whether any of them is there. */
  has(...names: readonly string[]): boolean;
}

/** Names are written with hyphens; programs that take underscores in their place are understood. */
export function optionsOf(args: readonly string[]): Options {
  const find = (names: readonly string[]): number => args.findLastIndex((arg) => names.includes(nameOf(arg)));
  const value = (...names: readonly string[]): string | undefined => {
    const at = find(names);
    const arg = args[at];
    if (arg === undefined) return undefined;
    return arg.includes("=") ? arg.slice(arg.indexOf("=") + 1) : args[at + 1];
  };
  return {
    value,
    number: (...names) => {
      const text = value(...names);
      return text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
    },
    has: (...names) => find(names) !== -1,
  };
}

function nameOf(arg: string): string {
  if (!arg.startsWith("--")) return arg;
  const [name = ""] = arg.split("=", 1);
  return `--${name.slice(2).replaceAll("_", "-")}`;
}
