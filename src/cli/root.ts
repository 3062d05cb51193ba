import type { CommandSpec } from "./command.ts";
import { GLOBAL_OPTIONS } from "./options.ts";

/** Each is loaded when it is named: an agent has no use for the operator's commands and should not hold them in memory. */
const COMMANDS: Readonly<Record<string, () => Promise<CommandSpec>>> = {
  up: async () => (await import("./up.ts")).up,
  server: async () => (await import("./server.ts")).server,
  router: async () => (await import("./router.ts")).router,
  agent: async () => (await import("./agent.ts")).agent,
  ctl: async () => (await import("./ctl/group.ts")).ctl,
  complete: async () => (await import("./complete-command.ts")).completeCommand(() => loadRoot()),
};

/** The program with those of its commands that are among the words; whole when none is, for help and for a misspelt name. */
export async function loadRoot(words: readonly string[] = []): Promise<CommandSpec> {
  const all = Object.entries(COMMANDS);
  const named = all.filter(([name]) => words.includes(name));
  return {
    name: "llmgw",
    summary: "one dependable LLM endpoint from a room full of GPU machines",
    options: GLOBAL_OPTIONS,
    examples: [
      { line: "llmgw up", doc: "everything on this machine, with a sample model" },
      { line: "llmgw ctl status", doc: "in another terminal" },
    ],
    commands: await Promise.all((named.length === 0 ? all : named).map(([, load]) => load())),
  };
}
