import { type ArgumentSpec, type CommandSpec, type OptionSpec } from "./command.ts";
import { loadRoot } from "./root.ts";

const ROOT = await loadRoot();

/** Markdown of every command, option and example, made from the tree that the program itself is built from. */
export function cliReference(): string {
  return sections(ROOT, { path: "", level: 2, inherited: [] }).join("\n");
}

interface Spot {
  readonly path: string;
  readonly level: number;
  readonly inherited: readonly OptionSpec[];
}

function sections(spec: CommandSpec, { path, level, inherited }: Spot): readonly string[] {
  const full = `${path} ${spec.name}`.trimStart();
  const below: Spot = { path: full, level: level + 1, inherited: [...(spec.options ?? []), ...inherited] };
  const children = (spec.commands ?? []).filter((command) => command.hidden !== true);
  return [ownSection(spec, full, level), ...children.flatMap((child) => sections(child, below))];
}

function ownSection(spec: CommandSpec, full: string, level: number): string {
  const isGroup = spec.commands !== undefined;
  const parts = [
    `${"#".repeat(Math.min(level, 6))} ${full}`,
    `${spec.summary.charAt(0).toUpperCase()}${spec.summary.slice(1)}.`,
    ...(spec.details === undefined ? [] : [spec.details]),
    code(usage(spec, full)),
    ...table("Argument", (spec.arguments ?? []).map(argumentRow)),
    ...table(isGroup ? "Option of every command below" : "Option", (spec.options ?? []).map(optionRow)),
    ...(spec.examples.length === 0
      ? []
      : [code(spec.examples.map((example) => `# ${example.doc}\n${example.line}`).join("\n\n"))]),
  ];
  return `${parts.join("\n\n")}\n`;
}

const code = (text: string): string => `\`\`\`\n${text}\n\`\`\``;

function usage(spec: CommandSpec, full: string): string {
  const words = (spec.arguments ?? []).map((argument) => argument.form);
  return [full, "[options]", ...(spec.commands === undefined ? [] : ["COMMAND"]), ...words].join(" ");
}

type Row = readonly [string, string];

const argumentRow = ({ form, doc }: ArgumentSpec): Row => [form, doc];

function optionRow({ flags, doc, choices, required, repeatable }: OptionSpec): Row {
  const notes = [
    ...(choices === undefined ? [] : [`one of ${choices.join(", ")}`]),
    ...(required === true ? ["required"] : []),
    ...(repeatable === true && !doc.includes("several times") ? ["may be given several times"] : []),
  ];
  return [flags, [doc, ...notes].join("; ")];
}

function table(head: string, rows: readonly Row[]): readonly string[] {
  if (rows.length === 0) return [];
  const cell = (text: string): string => text.replaceAll("|", "\\|");
  const lines = rows.map(([name, doc]) => `| \`${cell(name)}\` | ${cell(doc)} |`);
  return [[`| ${head} | |`, "| --- | --- |", ...lines].join("\n")];
}
