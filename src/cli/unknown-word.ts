import { didYouMean } from "../core/nearest.ts";
import type { CommandSpec } from "./command.ts";
import { type Place, startOf, step } from "./place-in-tree.ts";

const HELP: readonly string[] = ["--help", "-h"];

/**
 * What to say of a word beside --help that is no command; undefined: there is none. The parser would print the help of what
 * stands before the word, as if all were well.
 */
export function unknownWord(root: CommandSpec, argv: readonly string[]): string | undefined {
  const end = argv.indexOf("--");
  const words = end === -1 ? argv : argv.slice(0, end);
  if (!words.some((word) => HELP.includes(word))) return undefined;
  let place = startOf(root);
  for (const word of words) {
    place = step(place, word);
    if (place.argumentsBefore > 0) return unknown(place, word);
  }
  return undefined;
}

/** Words after a command without commands are its arguments. */
function unknown({ spec, path }: Place, word: string): string | undefined {
  if (spec.commands === undefined) return undefined;
  const known = spec.commands.flatMap(({ name, hidden }) => (hidden === true ? [] : [name]));
  return `Unknown command '${word}'.${didYouMean(word, known)} (${path} --help explains it)`;
}
