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
  call.io.stdout.write(format === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : stringify(value));
}

/** One of several objects on stdout, as they come: a line each, or a YAML document each. */
export function printObject(call: Call, format: "json" | "yaml", value: unknown): void {
  call.io.stdout.write(format === "json" ? `${JSON.stringify(value)}\n` : `---\n${stringify(value)}`);
}

export const isDocument = (output: Output): output is "json" | "yaml" => output === "json" || output === "yaml";
