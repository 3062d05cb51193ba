import { connectAdmin } from "../run/client.ts";
import type { Call, CommandSpec, ObjectKind } from "./command.ts";
import { complete } from "./complete.ts";
import { NAMES_OF } from "./ctl/names.ts";
import { connectionFor } from "./ctl/session.ts";

/** A person is waiting with a finger on the key. */
const ANSWER_WITHIN_MS = 1500;

/** What the completion scripts call. `root` is asked for late, because it holds this command too. */
export const completeCommand = (root: () => Promise<CommandSpec>): CommandSpec => ({
  name: "complete",
  summary: "print what may follow these words, one a line (for completion scripts)",
  arguments: [{ form: "[words...]", doc: "the words after the program's name, the last one unfinished" }],
  examples: [],
  hidden: true,
  run: async (call) => {
    const { words, names } = complete(await root(), call.args);
    const start = call.args.at(-1) ?? "";
    const known = names.length === 0 ? [] : await namesStartingWith(call, names, start);
    call.io.stdout.write([...words, ...known].map((word) => `${word}\n`).join(""));
    return 0;
  },
});

/** Nothing when the control plane does not answer: a completion that complains is in the way. */
async function namesStartingWith(call: Call, kinds: readonly ObjectKind[], start: string): Promise<readonly string[]> {
  const { server, token } = await connectionFor(call.flags, call.io);
  const admin = connectAdmin({ server, token, ca: undefined, timeoutMs: ANSWER_WITHIN_MS });
  try {
    const isPath = start.includes("/") || kinds.length > 1;
    const found = await Promise.all(kinds.map(async (kind) => ({ kind, names: await NAMES_OF[kind](admin.client) })));
    const words = found.flatMap(({ kind, names }) => names.map((name) => (isPath ? `${kind}/${name}` : name)));
    return words.filter((word) => word.startsWith(start));
  } finally {
    admin.close();
  }
}
