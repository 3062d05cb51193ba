import { formatBytes } from "../../../core/format.ts";
import { contentsInWords, keepCopy } from "../../../run/store-files.ts";
import type { BackupResponse } from "../../../wire/gen/llmgw/v1/operating_pb.js";
import type { CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { checkTarget } from "../../target-file.ts";
import { isDocument, outputOf, printDocument } from "../output.ts";
import { withSession } from "../session.ts";

export const backup: CommandSpec = {
  name: "backup",
  summary: "copy the control plane's store into a file, while it runs",
  details:
    "The copy is of one moment, and is read and checked before the file gets its name. It has mode 0600, because secrets are in it: the keys of replicas and what profiles give to engines, such as HF_TOKEN. Keys of clients and tokens are in it as hashes. Not in it: the file admin-token, server.yaml and certificates.",
  arguments: [{ form: "<file>", doc: "where to; a file that is there already is not written over" }],
  options: [{ flags: "--force", doc: "write over the file" }, OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl backup llmgw-2026-01-31.db", doc: "before an upgrade" }],
  run: async (call) => {
    const [file = ""] = call.args;
    await checkTarget(file, call.flags.given("force"));
    return withSession(call, async ({ client }) => {
      const received = receiving(client.backup({}, { timeoutMs: 0 }));
      const kept = await keepCopy(file, received);
      const output = outputOf(call);
      if (isDocument(output)) printDocument(call, output, { file, ...kept });
      else {
        call.io.stdout.write(`${file} (${formatBytes(kept.bytes)}) holds ${contentsInWords(kept.contents)}\n`);
        call.io.stderr.write("Secrets are in it: keep it as you keep the admin token.\n");
      }
      return 0;
    });
  },
};

type End = Extract<BackupResponse["part"], { case: "end" }>["value"];

function receiving(answers: AsyncIterable<BackupResponse>) {
  let end: End | undefined;
  async function* pieces(): AsyncGenerator<Uint8Array, undefined> {
    for await (const { part } of answers) {
      if (part.case === "chunk") yield part.value;
      if (part.case === "end") end = part.value;
    }
    return undefined;
  }
  return { pieces: pieces(), promised: () => end };
}
