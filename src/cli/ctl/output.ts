import { type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import { stringify } from "yaml";
import type { Call } from "../command.ts";
import { type Output, OUTPUTS } from "../options.ts";

export function outputOf(call: Call): Output {
  const asked = call.flags.text("output");
  return OUTPUTS.find((output) => output === asked) ?? "table";
}

/** The wire's own JSON with every field there, so that a script needs no defaults of its own. */
export const plain = <D extends DescMessage>(schema: D, message: MessageShape<D>): unknown =>
  toJson(schema, message, { alwaysEmitImplicit: true });

/** One document on stdout. */
export function printDocument(call: Call, format: "json" | "yaml", value: unknown): void {
  call.io.stdout.write(format === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : yaml(value));
}

/** What a verb has done: a document where one was asked for, else a line. */
export function printOutcome(call: Call, outcome: unknown, line: string): void {
  const output = outputOf(call);
  if (isDocument(output)) printDocument(call, output, outcome);
  else call.io.stdout.write(`${line}\n`);
}

/** One of several objects on stdout, as they come: a line each, or a YAML document each. */
export function printObject(call: Call, format: "json" | "yaml", value: unknown): void {
  call.io.stdout.write(format === "json" ? `${JSON.stringify(value)}\n` : `---\n${yaml(value)}`);
}

export const isDocument = (output: Output): output is "json" | "yaml" => output === "json" || output === "yaml";

/** A text stays on one line, however long, so that grep finds it. */
const yaml = (value: unknown): string => stringify(value, { lineWidth: 0 });
