import { type Call, type CommandSpec, Flags, type ObjectKind } from "./command.ts";
import { complete } from "./complete.ts";
import { NAMES_OF } from "./ctl/names.ts";
import { withSession } from "./ctl/session.ts";

/** A person is waiting with a finger on the key. */
const ANSWER_WITHIN_MS = 1500;

/** Printed alone where the shell itself knows what may stand: no word of ours begins so. */
const FILES = ":files";

/** What the completion scripts call. `root` is asked for late, because it holds this command too. */
export const completeCommand = (root: () => Promise<CommandSpec>): CommandSpec => ({
  name: "complete",
  summary: "print what may follow these words, one a line (for completion scripts)",
  arguments: [{ form: "[words...]", doc: "the words after the program's name, the last one unfinished" }],
  examples: [],
  hidden: true,
  run: async (call) => {
    const { words, names, files, prefix, given } = complete(await root(), call.args);
    if (files) {
      call.io.stdout.write(`${FILES}\n`);
      return 0;
    }
    const start = (call.args.at(-1) ?? "").slice(prefix.length);
    const asker: Call = { ...call, flags: new Flags(new Map([...given])) };
    const known = names.length === 0 ? [] : await namesStartingWith(asker, names, start);
    call.io.stdout.write([...words, ...known].map((word) => `${prefix}${word}\n`).join(""));
    return 0;
  },
});

/** Nothing when the control plane does not answer: a completion that complains is in the way. */
async function namesStartingWith(call: Call, kinds: readonly ObjectKind[], start: string): Promise<readonly string[]> {
  const found: string[] = [];
  await withSession(
    call,
    async ({ client }) => {
      for (const kind of kinds) {
        // Names of models have slashes of their own.
        const isPath = kinds.length > 1 || start.startsWith(`${kind}/`);
        const names = await NAMES_OF[kind](client);
        found.push(...names.map((name) => (isPath ? `${kind}/${name}` : name)));
      }
      return 0;
    },
    ANSWER_WITHIN_MS,
  );
  return found.filter((word) => word.startsWith(start));
}
