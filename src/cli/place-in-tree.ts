import { type CommandSpec, flagName, type OptionSpec } from "./command.ts";

/** Where the words of a command line lead, word by word, without its being run. */
export interface Place {
  readonly spec: CommandSpec;
  /** The names of the commands up to here: "llmgw ctl nodes". */
  readonly path: string;
  /** Its own options, and those of the groups above. */
  readonly options: readonly OptionSpec[];
  /** Words so far that are neither commands nor options nor their values. */
  readonly argumentsBefore: number;
  /** The option whose value is the next word. */
  readonly pending: OptionSpec | undefined;
  /** The values of options so far, by their long names. */
  readonly given: ReadonlyMap<string, string>;
}

export const startOf = (root: CommandSpec): Place => ({
  spec: root,
  path: root.name,
  options: root.options ?? [],
  argumentsBefore: 0,
  pending: undefined,
  given: new Map(),
});

export const optionOf = ({ options }: Place, word: string): OptionSpec | undefined =>
  options.find(({ flags }) => flags.split(/[ ,]+/).includes(word));

/** One word further. */
export function step(place: Place, word: string): Place {
  const { pending, given } = place;
  if (pending !== undefined) return { ...place, pending: undefined, given: adding(given, pending, word) };
  if (word.startsWith("-")) return stepOption(place, word);
  const child = place.spec.commands?.find((command) => command.name === word);
  if (child === undefined) return { ...place, argumentsBefore: place.argumentsBefore + 1 };
  const options = [...(child.options ?? []), ...place.options];
  return { ...place, spec: child, path: `${place.path} ${word}`, options, argumentsBefore: 0 };
}

function stepOption(place: Place, word: string): Place {
  const [, long, value] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? [];
  const option = optionOf(place, long ?? word);
  if (option?.flags.includes("<") !== true) return place;
  return value === undefined ? { ...place, pending: option } : { ...place, given: adding(place.given, option, value) };
}

const adding = (given: Place["given"], option: OptionSpec, value: string): Place["given"] =>
  new Map([...given, [flagName(option), value]]);
