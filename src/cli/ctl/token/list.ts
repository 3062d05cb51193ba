import { ListTokensResponseSchema, TokenSchema } from "../../../wire/gen/llmgw/v1/trust_pb.js";
import type { CommandSpec } from "../../command.ts";
import { OUTPUT, WATCH } from "../../options.ts";
import { tokenColumns } from "../../render/token-columns.ts";
import { showList } from "../listing.ts";
import { withSession } from "../session.ts";

export const list: CommandSpec = {
  name: "list",
  summary: "list tokens of nodes and people, without the tokens",
  options: [{ flags: "--all", doc: "those that are used up, expired or revoked, too" }, OUTPUT, WATCH],
  examples: [
    { line: "llmgw ctl token list", doc: "what can still be used" },
    { line: "llmgw ctl token list --all -o wide", doc: "and which nodes came by which token" },
  ],
  run: (call) =>
    withSession(call, ({ client }) =>
      showList(call, client, {
        answer: ListTokensResponseSchema,
        item: TokenSchema,
        ask: (it, signal) => it.listTokens({ all: call.flags.given("all") }, { signal }),
        rows: (answer) => answer.tokens,
        columns: tokenColumns,
        name: (token) => `token/${token.id}`,
        empty: "There is no token that could be used: `llmgw ctl token create` makes one.",
      }),
    ),
};
