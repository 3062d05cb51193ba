import { systemClock } from "../../../platform/clock.ts";
import type { CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { isDocument, outputOf, printDocument } from "../output.ts";
import { entryDocument } from "./entry-document.ts";
import { DIR, dirOf } from "./options.ts";

export const revoke: CommandSpec = {
  name: "revoke",
  summary: "revoke a certificate: crl.pem is written anew",
  details:
    "A name stands for all certificates that were issued for it; a serial number for the one. A control plane reads the crl.pem beside its tls.ca again when it changes, and ends open streams of revoked certificates within seconds: copy the file there, if it lies elsewhere.",
  arguments: [{ form: "<name|serial>", doc: "the name as list shows it, or the serial number" }],
  options: [DIR, OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl cert revoke gpu-a-01 --dir certs", doc: "that node's key was stolen" }],
  run: async (call) => {
    const { revoke: end } = await import("../../../pki/commands.ts");
    const dir = dirOf(call);
    const now = systemClock.now();
    const revoked = await end(call.args[0] ?? "", { dir, now });
    const output = outputOf(call);
    if (isDocument(output)) {
      printDocument(call, output, { revoked: revoked.map((entry) => entryDocument(entry, now)) });
      return 0;
    }
    for (const { name, serial } of revoked)
      call.io.stdout.write(`${name || "certificate"} revoked, serial ${serial}\n`);
    if (revoked.length === 0) call.io.stderr.write("It was revoked before; nothing changes.\n");
    else call.io.stderr.write(`${dir}/crl.pem is new: control planes read the one beside their tls.ca.\n`);
    return 0;
  },
};
