import type { CommandSpec } from "../../command.ts";
import { create } from "./create.ts";
import { list } from "./list.ts";
import { revoke } from "./revoke.ts";

export const keys: CommandSpec = {
  name: "keys",
  summary: "keys that clients show to the router, and what each may use",
  details: "Routers ask for keys where router.auth is keys. docs/guide/keys.md explains models, limits and budgets.",
  examples: [
    { line: "llmgw ctl keys create laptop", doc: "make one" },
    { line: "llmgw ctl keys list", doc: "who has one?" },
    { line: "llmgw ctl keys revoke laptop", doc: "end it" },
  ],
  commands: [create, list, revoke],
};
