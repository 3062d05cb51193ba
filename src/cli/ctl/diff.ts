import type { CommandSpec } from "../command.ts";
import { MANIFEST_FILES, MORE_FILES, OUTPUT_PAGE } from "../options.ts";
import { diffPage } from "../render/plan-page.ts";
import { showPlan } from "./plan.ts";

export const diff: CommandSpec = {
  name: "diff",
  summary: "what the files would change, key by key",
  details:
    "Exit code 0: nothing, 1: something, 2: it could not be told. `apply --plan` also says what follows from it.",
  arguments: [MORE_FILES],
  options: [MANIFEST_FILES, OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl diff -f profiles/", doc: "before `apply`" }],
  run: (call) => showPlan(call, diffPage),
};
