import { didYouMean } from "../core/nearest.ts";
import type { CommandSpec, OptionSpec } from "./command.ts";

const HELP: readonly string[] = ["--help", "-h"];

/**
 * What to say of a word beside --help that is no command; undefined: there is none. The parser would print the help of what
 * stands before the word, as if all were well.
 */
export function unknownWord(root: CommandSpec, argv: readonly string[]): string | undefined {
  const end = argv.indexOf("--");
  const words = end === -1 ? argv : argv.slice(0, end);
  if (!words.some((word) => HELP.includes(word))) return undefined;
  let place: Place = { spec: root, options: root.options ?? [], path: root.name };
  let isValue = false;
  for (const word of words) {
    if (isValue) isValue = false;
    else if (word.startsWith("-")) isValue = takesValue(place.options, word);
    else {
      const next = place.spec.commands?.find(({ name }) => name === word);
      if (next === undefined) return unknown(place, word);
      const options = [...(next.options ?? []), ...place.options];
      place = { spec: next, options, path: `${place.path} ${word}` };
    }
  }
  return undefined;
}

interface Place {
  readonly spec: CommandSpec;
  readonly options: readonly OptionSpec[];
  readonly path: string;
}

const takesValue = (options: readonly OptionSpec[], word: string): boolean =>
  options.some(({ flags }) => flags.includes("<") && flags.split(/[ ,]+/).includes(word));

/** Words after a command without commands are its arguments. */
function unknown({ spec, path }: Place, word: string): string | undefined {
  if (spec.commands === undefined) return undefined;
  const known = spec.commands.flatMap(({ name, hidden }) => (hidden === true ? [] : [name]));
  return `Unknown command '${word}'.${didYouMean(word, known)} (${path} --help explains it)`;
}
