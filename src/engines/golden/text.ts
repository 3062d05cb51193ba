import type { EngineCommand } from "../engine.ts";

/** A whole command for the eye: a line for each argument, variable and file; quoted where it has spaces. */
export function commandText({ argv, env, files = [] }: EngineCommand): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const lines = [
    ["argv", ...argv.map(indented)],
    ["env", ...variables.toSorted().map(indented)],
    ...files.map(({ path, text }) => [`file ${path}`, ...text.trimEnd().split("\n").map(indented)]),
  ];
  return `${lines.flat().join("\n")}\n`;
}

/** A script of several lines stays one that can be read. */
const indented = (text: string): string =>
  text.includes("\n") ? text.replaceAll(/^/gm, "  | ") : `  ${/^[^\s"']+$/.test(text) ? text : JSON.stringify(text)}`;
