import { KeySchema, ListKeysResponseSchema } from "../../../wire/gen/llmgw/v1/admin_pb.js";
import type { CommandSpec } from "../../command.ts";
import { OUTPUT, WATCH } from "../../options.ts";
import { keyColumns } from "../../render/key-columns.ts";
import { showList } from "../listing.ts";
import { withSession } from "../session.ts";

export const list: CommandSpec = {
  name: "list",
  summary: "list the keys of clients, without the keys",
  details: "Limits hold over all routers together. What is left of a budget is as of about a second ago.",
  options: [{ flags: "--all", doc: "those that were revoked, too" }, OUTPUT, WATCH],
  examples: [
    { line: "llmgw ctl keys list", doc: "who may ask, for what, how much and until when" },
    { line: "llmgw ctl keys list --all -o wide", doc: "and who may no more" },
  ],
  run: (call) =>
    withSession(call, ({ client }) =>
      showList(call, client, {
        answer: ListKeysResponseSchema,
        item: KeySchema,
        ask: (it, signal) => it.listKeys({ revoked: call.flags.given("all") }, { signal }),
        rows: (answer) => answer.keys,
        columns: keyColumns,
        name: (key) => `key/${key.name}`,
        empty: "There are no keys yet: `llmgw ctl keys create NAME` makes one.",
      }),
    ),
};
