import { readToken, shownStart } from "../../../core/access-token.ts";
import { RevokeTokenResponseSchema } from "../../../wire/gen/llmgw/v1/trust_pb.js";
import type { CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { bareName } from "../names.ts";
import { plain, printOutcome } from "../output.ts";
import { withSession } from "../session.ts";

export const revoke: CommandSpec = {
  name: "revoke",
  summary: "end a token",
  details:
    "Certificates that nodes got by it stay good: `llmgw ctl cert revoke` ends those. A node that stands by the token itself, over plain http, is sent away within seconds.",
  arguments: [{ form: "<name|id|prefix>", doc: "whose it is, its id, or its first characters", completes: ["token"] }],
  options: [OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl token revoke alice", doc: "a person's" },
    { line: "llmgw ctl token revoke llmgw-join-x7Kd2q", doc: "by the beginning of one that was found somewhere" },
  ],
  run: (call) =>
    withSession(call, async ({ client }) => {
      const revoked = await client.revokeToken({ token: nameable(call.args[0] ?? "") });
      printOutcome(call, plain(RevokeTokenResponseSchema, revoked), `token/${revoked.token?.id ?? ""} revoked`);
      return 0;
    }),
};

/** People paste whole tokens: what goes further is the part that may be shown. */
function nameable(asked: string): string {
  const token = readToken(asked);
  return token === undefined ? bareName("token", asked) : shownStart(token.secret);
}
