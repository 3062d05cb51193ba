import { KEY_PREFIX, SHOWN_KEY_LENGTH } from "../../../core/client-key.ts";
import { RevokeKeyResponseSchema } from "../../../wire/gen/llmgw/v1/admin_pb.js";
import type { CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { bareName } from "../names.ts";
import { plain, printOutcome } from "../output.ts";
import { withSession } from "../session.ts";

export const revoke: CommandSpec = {
  name: "revoke",
  summary: "end a key: routers refuse it within a second",
  details: "Answers that have begun are sent to their end. A revoked key does not come back; its name is free again.",
  arguments: [{ form: "<name|prefix>", doc: "the key's name, its id, or its first characters", completes: ["key"] }],
  options: [OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl keys revoke support-bot", doc: "by its name" },
    { line: "llmgw ctl keys revoke sk-llmgw-x7Kd2q", doc: "by the beginning of a key that was found somewhere" },
  ],
  run: (call) =>
    withSession(call, async ({ client }) => {
      const revoked = await client.revokeKey({ key: nameable(call.args[0] ?? "") });
      printOutcome(call, plain(RevokeKeyResponseSchema, revoked), `key/${revoked.key?.name ?? ""} revoked`);
      return 0;
    }),
};

/** People paste whole keys: what goes further is the part that may be shown. */
const nameable = (asked: string): string =>
  asked.startsWith(KEY_PREFIX) ? asked.slice(0, SHOWN_KEY_LENGTH) : bareName("key", asked);
