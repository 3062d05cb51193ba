import { type ArgumentSpec, type CommandSpec, flagName, type ObjectKind, type OptionSpec } from "./command.ts";

/** What may stand where the cursor is: words, and names of these kinds that only the control plane knows. */
export interface Candidates {
  readonly words: readonly string[];
  readonly names: readonly ObjectKind[];
}

const NONE: Candidates = { words: [], names: [] };

interface Place {
  readonly spec: CommandSpec;
  readonly options: readonly OptionSpec[];
  /** Arguments before the cursor that are neither options nor their values. */
  readonly argumentsBefore: number;
  /** The option that waits for its value at the cursor. */
  readonly pending: OptionSpec | undefined;
}

/** Candidates for the last of the words, which may be empty; `words` begins after the program's own name. */
export function complete(root: CommandSpec, words: readonly string[]): Candidates {
  const current = words.at(-1) ?? "";
  const place = walk(root, words.slice(0, -1));
  if (place.pending !== undefined)
    return startingWith(current, { words: place.pending.choices ?? [], names: place.pending.completes ?? [] });
  if (current.startsWith("-")) {
    const flags = [...place.options.map((option) => `--${flagName(option)}`), "--help", "--version"];
    return startingWith(current, { words: flags, names: [] });
  }
  return startingWith(current, positional(place));
}

function positional({ spec, argumentsBefore }: Place): Candidates {
  const commands = (spec.commands ?? []).filter((command) => command.hidden !== true);
  if (commands.length > 0) return { words: commands.map((command) => command.name), names: [] };
  const argument = argumentAt(spec.arguments ?? [], argumentsBefore);
  return argument === undefined ? NONE : { words: argument.choices ?? [], names: argument.completes ?? [] };
}

const startingWith = (start: string, { words, names }: Candidates): Candidates => ({
  words: words.filter((word) => word.startsWith(start)),
  names,
});

/** The last argument takes the rest when it is variadic. */
function argumentAt(list: readonly ArgumentSpec[], at: number): ArgumentSpec | undefined {
  const last = list.at(-1);
  return list[at] ?? (last?.form.includes("...") === true ? last : undefined);
}

function walk(root: CommandSpec, words: readonly string[]): Place {
  let place: Place = { spec: root, options: root.options ?? [], argumentsBefore: 0, pending: undefined };
  for (const word of words) place = step(place, word);
  return place;
}

function step(place: Place, word: string): Place {
  if (place.pending !== undefined) return { ...place, pending: undefined };
  if (word.startsWith("-")) {
    const option = place.options.find((it) => it.flags.split(/[ ,]+/).includes(word));
    return { ...place, pending: option?.flags.includes("<") === true ? option : undefined };
  }
  const child = place.spec.commands?.find((command) => command.name === word);
  if (child === undefined) return { ...place, argumentsBefore: place.argumentsBefore + 1 };
  return { spec: child, options: [...(child.options ?? []), ...place.options], argumentsBefore: 0, pending: undefined };
}
