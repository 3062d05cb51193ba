import { type ArgumentSpec, type CommandSpec, flagName, type ObjectKind, type OptionSpec } from "./command.ts";
import { optionOf, type Place, startOf, step } from "./place-in-tree.ts";

/** What may stand where the cursor is: words, and names of these kinds that only the control plane knows. */
export interface Candidates {
  readonly words: readonly string[];
  readonly names: readonly ObjectKind[];
  /** The name of a file or a folder may stand there. */
  readonly files: boolean;
  /** What stands before each of them in the word at the cursor, such as "--output=". */
  readonly prefix: string;
  /** The values of options that were typed before, by their long names: which control plane is meant. */
  readonly given: ReadonlyMap<string, string>;
}

type Found = Pick<Candidates, "words" | "names" | "files">;

const NONE: Found = { words: [], names: [], files: false };

/** Candidates for the last of the words, which may be empty; `words` begins after the program's own name. */
export function complete(root: CommandSpec, words: readonly string[]): Candidates {
  const current = words.at(-1) ?? "";
  const place = words.slice(0, -1).reduce(step, startOf(root));
  const { given } = place;
  if (place.pending !== undefined) return { ...valuesOf(place.pending, current), prefix: "", given };
  const [, prefix, start] = /^(--[a-z-]+=)(.*)$/s.exec(current) ?? [];
  if (prefix !== undefined && start !== undefined) {
    const option = optionOf(place, prefix.slice(0, -1));
    return { ...(option === undefined ? NONE : valuesOf(option, start)), prefix, given };
  }
  if (!current.startsWith("-")) return { ...startingWith(current, positional(place)), prefix: "", given };
  const flags = [...place.options.map((option) => `--${flagName(option)}`), "--help", "--version"];
  return { ...startingWith(current, { ...NONE, words: flags }), prefix: "", given };
}

const valuesOf = ({ flags, choices = [], completes = [] }: OptionSpec, start: string): Found =>
  startingWith(start, { words: choices, names: completes, files: isPath(flags) });

/** By how help calls it. */
const isPath = (form: string): boolean => /[<[](file|dir)(\.\.\.)?[>\]]/.test(form);

function positional({ spec, argumentsBefore }: Place): Found {
  const commands = (spec.commands ?? []).filter((command) => command.hidden !== true);
  if (commands.length > 0) return { ...NONE, words: commands.map((command) => command.name) };
  const argument = argumentAt(spec.arguments ?? [], argumentsBefore);
  if (argument === undefined) return NONE;
  const { choices = [], completes = [], form } = argument;
  return { words: choices, names: completes, files: isPath(form) };
}

const startingWith = (start: string, found: Found): Found => ({
  ...found,
  words: found.words.filter((word) => word.startsWith(start)),
});

/** The last argument takes the rest when it is variadic. */
function argumentAt(list: readonly ArgumentSpec[], at: number): ArgumentSpec | undefined {
  const last = list.at(-1);
  return list[at] ?? (last?.form.includes("...") === true ? last : undefined);
}
