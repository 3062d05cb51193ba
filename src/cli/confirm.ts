import { LlmgwError } from "../core/errors.ts";
import type { Call, OptionSpec } from "./command.ts";
import { isTerminal } from "./io.ts";

export const YES: OptionSpec = { flags: "-y, --yes", doc: "do not ask; in a script nobody is asked anyway" };

/** Asks a person at a terminal. Anything but y or yes ends the command with exit code 1, and nothing has happened. */
export async function confirm({ flags, io }: Call, question: string): Promise<void> {
  if (flags.given("yes") || !isTerminal(io.stdin) || !isTerminal(io.stderr)) return;
  io.stderr.write(`${question} [y/N] `);
  const answer = (await firstLine(io.stdin)).trim().toLowerCase();
  if (answer !== "y" && answer !== "yes") throw new LlmgwError("FAILED", "Nothing was done.");
}

async function firstLine(stdin: AsyncIterable<string | Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stdin) {
    text += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    if (text.includes("\n")) break;
  }
  return text.split("\n", 1)[0] ?? "";
}
