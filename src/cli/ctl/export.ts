import { ExportResponseSchema } from "../../wire/gen/llmgw/v1/operating_pb.js";
import type { CommandSpec } from "../command.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { oneLine } from "../render/text.ts";
import { outputOf, plain, printDocument } from "./output.ts";
import { withSession } from "./session.ts";

export const exportAll: CommandSpec = {
  name: "export",
  summary: "print everything that is to run, as one YAML file",
  details:
    "`llmgw ctl apply -f` of it restores the same. Values that are the default are left out. Secrets that profiles give to engines are in it: keep it as you keep them. What no manifest can hold, such as a node that is cordoned, is written at its end as a comment.",
  options: [OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl export > cluster.yaml", doc: "for a repository, or another control plane" },
    { line: "llmgw ctl export | llmgw ctl diff -f -", doc: "nothing" },
  ],
  run: (call) =>
    withSession(call, async ({ client }) => {
      const exported = await client.export({});
      const output = outputOf(call);
      // YAML is what it is anyway.
      if (output === "json") printDocument(call, output, plain(ExportResponseSchema, exported));
      else {
        call.io.stdout.write(exported.manifest + exported.notes.map((note) => `# ${oneLine(note)}\n`).join(""));
        if (exported.manifest === "") call.io.stderr.write("Nothing is to run.\n");
      }
      return 0;
    }),
};
