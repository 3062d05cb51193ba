import { agent } from "./agent.ts";
import type { CommandSpec } from "./command.ts";
import { completeCommand } from "./complete-command.ts";
import { ctl } from "./ctl/group.ts";
import { GLOBAL_OPTIONS } from "./options.ts";
import { server } from "./server.ts";
import { up } from "./up.ts";

/** The whole program. */
export const ROOT: CommandSpec = {
  name: "llmgw",
  summary: "one dependable LLM endpoint from a room full of GPU machines",
  options: GLOBAL_OPTIONS,
  examples: [
    { line: "llmgw up", doc: "everything on this machine, with a sample model" },
    { line: "llmgw ctl status", doc: "in another terminal" },
  ],
  commands: [up, server, agent, ctl, completeCommand(() => ROOT)],
};
