import { Argument, Command, type CommanderError, InvalidArgumentError, Option } from "commander";
import { didYouMean } from "../core/nearest.ts";
import { VERSION } from "../core/version.ts";
import { type ArgumentSpec, type CommandSpec, flagName, Flags, type OptionSpec } from "./command.ts";
import { coloursFor, type Io } from "./io.ts";

/** Called with the exit code of the command that ran. */
type Ended = (code: number) => void;

interface Building {
  readonly io: Io;
  readonly ended: Ended;
  /** Options of the groups above, which every command below takes. */
  readonly inherited: readonly OptionSpec[];
  /** The words typed so far: "llmgw ctl". */
  readonly above: string;
}

/** Thrown where commander would end the process: for a wrong command line, and after --help and --version. */
export class ParserExit extends Error {
  readonly kind: "done" | "helpInsteadOfAnswer" | "wrongUsage";

  constructor(error: CommanderError, path: string) {
    const said = error.message.replace(/^error: /, "").replace(/\s*\n\s*/g, " ");
    super(`${said.charAt(0).toUpperCase()}${said.slice(1)} (${path} --help explains it)`, { cause: error });
    if (error.exitCode === 0) this.kind = "done";
    else this.kind = error.code === "commander.help" ? "helpInsteadOfAnswer" : "wrongUsage";
  }
}

/** The parser for a tree of commands. It prints through `io` and throws ParserExit where commander would exit. */
export function buildProgram(root: CommandSpec, io: Io, ended: Ended): Command {
  return build(root, { io, ended, inherited: [], above: "" });
}

function build(spec: CommandSpec, building: Building): Command {
  const command = new Command(spec.name);
  const path = `${building.above} ${spec.name}`.trimStart();
  configure(command, spec, { io: building.io, path });
  const { inherited } = building;
  const own = spec.options ?? [];
  for (const option of own) command.addOption(toOption(option, spec.commands === undefined));
  for (const option of inherited) command.addOption(toOption(option, true).helpGroup("Options of every command:"));
  for (const argument of spec.arguments ?? []) command.addArgument(toArgument(argument));
  // Options of a group are taken by each of its commands as well, before the name of the command and after it.
  command.enablePositionalOptions();
  for (const child of spec.commands ?? []) {
    const below = { ...building, inherited: [...own, ...inherited], above: path };
    command.addCommand(build(child, below), { hidden: child.hidden === true });
  }
  const run = spec.run;
  if (run !== undefined) {
    command.action(async () => {
      const args = command.processedArgs.flat().filter((value): value is string => typeof value === "string");
      building.ended(await run({ args, flags: new Flags(valuesOf(command)), io: building.io }));
    });
  }
  return command;
}

function configure(command: Command, spec: CommandSpec, { io, path }: { io: Io; path: string }): void {
  command
    .summary(spec.summary)
    .description([sentence(spec.summary), spec.details].filter((text) => text !== undefined).join("\n\n"))
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .allowExcessArguments(false)
    .exitOverride((error) => {
      throw new ParserExit(error, path);
    })
    .configureHelp({ sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: () => undefined,
      getOutHelpWidth: () => io.stdout.columns || 100,
      getErrHelpWidth: () => io.stderr.columns || 100,
      getOutHasColors: () => coloursFor(io.stdout, io.env).isColorSupported,
      getErrHasColors: () => coloursFor(io.stderr, io.env).isColorSupported,
    })
    .addHelpText("after", examplesText(spec));
}

function examplesText(spec: CommandSpec): string {
  if (spec.examples.length === 0) return "";
  const lines = spec.examples.map((example) => `  # ${example.doc}\n  ${example.line}`);
  return `\nExamples:\n${lines.join("\n")}`;
}

const sentence = (summary: string): string => `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;

function toOption(spec: OptionSpec, enforce: boolean): Option {
  const option = new Option(spec.flags, spec.doc);
  if (spec.required === true && enforce) option.makeOptionMandatory();
  const takesValue = option.required || option.optional;
  if (takesValue) {
    option.argParser((value: string, before: unknown) => {
      checkChoice(value, spec.choices);
      spec.check?.(value);
      return spec.repeatable === true ? [...(Array.isArray(before) ? (before as string[]) : []), value] : value;
    });
  }
  return option;
}

function toArgument(spec: ArgumentSpec): Argument {
  const argument = new Argument(spec.form, spec.doc);
  argument.argParser((value: string, before: unknown) => {
    checkChoice(value, spec.choices);
    return argument.variadic ? [...(Array.isArray(before) ? (before as string[]) : []), value] : value;
  });
  return argument;
}

function checkChoice(value: string, choices: readonly string[] | undefined): void {
  if (choices === undefined || choices.includes(value)) return;
  throw new InvalidArgumentError(`It takes one of ${choices.join(", ")}.${didYouMean(value, choices)}`);
}

/** What was given at the command itself wins over what was given at a group above it. */
function valuesOf(command: Command): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  for (let level: Command | null = command; level !== null; level = level.parent) {
    for (const option of level.options) {
      const name = flagName({ flags: option.flags, doc: "" });
      const value: unknown = level.getOptionValue(option.attributeName());
      if (value !== undefined && !values.has(name)) values.set(name, value);
    }
  }
  return values;
}
