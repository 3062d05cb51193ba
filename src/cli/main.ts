import { reportFailure, wantsJson } from "./failure.ts";
import type { Io } from "./io.ts";
import { dieWithLauncher } from "./launcher.ts";
import { buildProgram, ParserExit } from "./program.ts";
import { LlmgwError } from "../core/errors.ts";
import { loadRoot } from "./root.ts";
import { unknownWord } from "./unknown-word.ts";
import { endQuietlyWithoutReader } from "./without-reader.ts";

/** Runs the command line, without the program's own name, and resolves with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  dieWithLauncher();
  endQuietlyWithoutReader();
  const { env, stdin, stdout, stderr } = process;
  return runCommand(argv, { env, stdin, stdout, stderr });
}

/** The program in a process that is not its own: nothing of the process is touched but what `io` names. */
export async function runCommand(argv: readonly string[], io: Io): Promise<number> {
  let code = 0;
  const root = await loadRoot(argv);
  const program = buildProgram(root, io, (ended) => {
    code = ended;
  });
  try {
    const wrong = unknownWord(root, argv);
    if (wrong !== undefined) throw new LlmgwError("BAD_REQUEST", wrong);
    await program.parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof ParserExit)) return reportFailure(error, io, wantsJson(argv));
    if (error.kind === "done") return 0;
    // The help that stands there already says more than a sentence could.
    if (error.kind === "helpInsteadOfAnswer") return 2;
    return reportFailure(new LlmgwError("BAD_REQUEST", error.message, { cause: error }), io, wantsJson(argv));
  }
}
