import { VERSION } from "../../core/version.ts";
import type { CommandSpec } from "../command.ts";
import { failureOf } from "../failure.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { isDocument, outputOf, printDocument } from "./output.ts";
import { withSession } from "./session.ts";

const ANSWER_WITHIN_MS = 3000;

export const version: CommandSpec = {
  name: "version",
  summary: "print the version of this program and of the control plane",
  options: [OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl version", doc: "a control plane that cannot be asked is no failure here" }],
  run: async (call) => {
    const server = await serverVersion(call);
    const output = outputOf(call);
    if (isDocument(output)) {
      printDocument(call, output, { client: VERSION, server: server.version ?? null });
      return 0;
    }
    call.io.stdout.write(`client ${VERSION}\n`);
    if (server.version === undefined) call.io.stderr.write(`server unknown: ${server.why}\n`);
    else call.io.stdout.write(`server ${server.version}\n`);
    return 0;
  },
};

type ServerVersion = { readonly version: string } | { readonly version: undefined; readonly why: string };

async function serverVersion(call: Parameters<typeof withSession>[0]): Promise<ServerVersion> {
  let found: ServerVersion = { version: undefined, why: "it was not asked" };
  try {
    await withSession(call, async ({ client }) => {
      const { serverVersion: said } = await client.getStatus({}, { timeoutMs: ANSWER_WITHIN_MS });
      found = { version: said };
      return 0;
    });
  } catch (error) {
    found = { version: undefined, why: failureOf(error).message };
  }
  return found;
}
