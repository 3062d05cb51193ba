import { readToken } from "../../../core/access-token.ts";
import { RevokeTokenResponseSchema } from "../../../wire/gen/llmgw/v1/trust_pb.js";
import type { CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { bareName } from "../names.ts";
import { isDocument, outputOf, plain, printDocument } from "../output.ts";
import { withSession } from "../session.ts";

/** So much of a token that somebody pastes goes further: what may be shown. */
const SHOWN = "llmgw-join-".length + 6;

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
      const asked = call.args[0] ?? "";
      const token = readToken(asked) === undefined ? bareName("token", asked) : asked.slice(0, SHOWN);
      const revoked = await client.revokeToken({ token });
      const output = outputOf(call);
      if (isDocument(output)) printDocument(call, output, plain(RevokeTokenResponseSchema, revoked));
      else call.io.stdout.write(`token/${revoked.token?.id ?? ""} revoked\n`);
      return 0;
    }),
};
