import { GetStatusResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { CommandSpec } from "../command.ts";
import { widthOf } from "../io.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { statusPage } from "../render/status-page.ts";
import { lookingNow } from "./listing.ts";
import { isDocument, outputOf, plain, printDocument } from "./output.ts";
import { withSession } from "./session.ts";

export const status: CommandSpec = {
  name: "status",
  summary: "show everything on one screen, what needs attention first",
  options: [OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl status", doc: "is all well?" },
    { line: "llmgw ctl status -o json", doc: "for scripts: `attention` is empty when all is well" },
  ],
  run: (call) =>
    withSession(call, async ({ client, connection }) => {
      const output = outputOf(call);
      const answer = await client.getStatus({});
      if (isDocument(output)) {
        printDocument(call, output, plain(GetStatusResponseSchema, answer));
        return 0;
      }
      const { models } = await client.listModels({});
      const looking = { ...lookingNow(call), width: widthOf(call.io.stdout) };
      call.io.stdout.write(statusPage({ status: answer, models, server: connection.server }, looking));
      return 0;
    }),
};
