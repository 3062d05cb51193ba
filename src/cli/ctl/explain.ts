import { ExplainResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { LlmgwError } from "../../core/errors.ts";
import type { AdminClient } from "../../run/client.ts";
import type { CommandSpec } from "../command.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { explainPage } from "../render/explain-page.ts";
import { lookingNow } from "./listing.ts";
import { bareName, findReplica, NAMES_OF } from "./names.ts";
import { isDocument, outputOf, plain, printDocument } from "./output.ts";
import { withSession } from "./session.ts";

export const explain: CommandSpec = {
  name: "explain",
  summary: "say why something is where it is, or nowhere, and what would change that",
  details:
    "For each node every rule that says no, and the smallest change that would make that rule say yes; before it what a replica is estimated to take, part by part, and what that is known from.",
  arguments: [
    {
      form: "<name>",
      doc: "a profile, or a replica by its name or the beginning of it",
      completes: ["profile", "replica"],
    },
  ],
  options: [OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl explain qwen3-32b", doc: "would one more replica of it find a place?" },
    { line: "llmgw ctl explain qwen3-32b-x1f9 -o json", doc: "one replica, for scripts" },
  ],
  run: (call) =>
    withSession(call, async ({ client }) => {
      const [asked] = call.args;
      if (asked === undefined) throw new LlmgwError("BAD_REQUEST", "explain needs the name of a profile or a replica");
      const answer = await client.explain({ name: await nameOf(client, asked) });
      const output = outputOf(call);
      if (isDocument(output)) printDocument(call, output, plain(ExplainResponseSchema, answer));
      else call.io.stdout.write(explainPage(answer, lookingNow(call)));
      return 0;
    }),
};

/** A profile by its whole name; anything else is looked for among the replicas. */
async function nameOf(client: AdminClient, asked: string): Promise<string> {
  const profile = bareName("profile", asked);
  return (await NAMES_OF.profile(client)).includes(profile) ? profile : await findReplica(client, asked);
}
