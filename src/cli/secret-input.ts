import { LlmgwError } from "../core/errors.ts";
import type { Call } from "./command.ts";
import { type Io, isTerminal, readStdin } from "./io.ts";
import { readNamedFile } from "./named-file.ts";

/** Of --token, the file that --token-file names, what is typed unseen, or stdin. `what` is for messages: "the join token". */
export async function readToken({ flags, io }: Call, what: string): Promise<string> {
  const file = flags.text("token-file");
  const given = flags.text("token") ?? (await (file === undefined ? fromInput(io, what) : readNamedFile(file, what)));
  const token = given.trim();
  if (token !== "") return token;
  throw new LlmgwError("BAD_REQUEST", `No token was given: type ${what}, pipe it in, or give --token-file.`);
}

async function fromInput(io: Io, what: string): Promise<string> {
  if (!isTerminal(io.stdin)) return readStdin(io);
  io.stderr.write(`Paste ${what} (it is not shown): `);
  const typed = await typedUnseen(io);
  io.stderr.write("\n");
  return typed;
}

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const ENTER = /[\r\n]/;
const BACKSPACES: readonly string[] = ["\u007f", "\b"];

/** Without raw mode the terminal itself would show each key. */
async function typedUnseen({ stdin }: Io): Promise<string> {
  stdin.setRawMode?.(true);
  try {
    let line = "";
    for await (const chunk of stdin) {
      for (const key of typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8")) {
        if (key === CTRL_C) throw new LlmgwError("FAILED", "Interrupted: nothing was done.");
        if (ENTER.test(key) || key === CTRL_D) return line;
        line = BACKSPACES.includes(key) ? line.slice(0, -1) : line + key;
      }
    }
    return line;
  } finally {
    stdin.setRawMode?.(false);
  }
}
