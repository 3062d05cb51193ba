import type { CommandSpec } from "../../command.ts";
import { create } from "./create.ts";
import { list } from "./list.ts";
import { revoke } from "./revoke.ts";

export const token: CommandSpec = {
  name: "token",
  summary: "tokens that admit nodes, and tokens of people",
  details:
    "A join token makes a machine a node with one command. A token with a role stands for a person or a program: `llmgw ctl login` takes it. docs/guide/joining.md shows both ways.",
  examples: [
    { line: "llmgw ctl token create", doc: "the command to paste on the new node" },
    { line: "llmgw ctl token create alice --role operator", doc: "a token for a colleague" },
    { line: "llmgw ctl token list", doc: "what is in force?" },
    { line: "llmgw ctl token revoke alice", doc: "end it" },
  ],
  commands: [create, list, revoke],
};
