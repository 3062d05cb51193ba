import type { CommandSpec } from "../command.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { LlmgwError } from "../../core/errors.ts";
import { didYouMean } from "../../core/nearest.ts";
import { bareName, NAMES_OF, unknownName } from "./names.ts";
import { isDocument, outputOf, printDocument } from "./output.ts";
import { withSession } from "./session.ts";

/** What can be deleted; a node goes by itself, a replica belongs to its profile. */
const KINDS = ["profile"] as const;

export const remove: CommandSpec = {
  name: "delete",
  summary: "delete a profile: its replicas are drained and stopped",
  arguments: [
    { form: "<kind>", doc: "profile" },
    { form: "<name>", doc: "its name", completes: ["profile"] },
  ],
  options: [OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl delete profile qwen3-32b", doc: "stop serving it" }],
  run: (call) =>
    withSession(call, async ({ client }) => {
      const [kind = "", asked = ""] = call.args;
      checkKind(kind);
      const name = bareName("profile", asked);
      const known = await NAMES_OF.profile(client);
      if (!known.includes(name)) throw unknownName("profile", name, known);
      await client.delete({ kind: "Profile", name });
      const output = outputOf(call);
      if (isDocument(output)) printDocument(call, output, { kind: "Profile", name, outcome: "deleted" });
      else call.io.stdout.write(`profile/${name} deleted\n`);
      return 0;
    }),
};

/** Manifests write Profile, people write profile or profiles. */
function checkKind(kind: string): void {
  const lower = kind.toLowerCase().replace(/s$/, "");
  if (KINDS.some((known) => known === lower)) return;
  throw new LlmgwError(
    "BAD_REQUEST",
    `A ${kind} cannot be deleted, only: ${KINDS.join(", ")}.${didYouMean(lower, KINDS)}`,
  );
}
