import type { CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { days, DIR, FORCE, makingOf, showMade } from "./options.ts";

/** A year: long enough to be renewed by hand, short enough that a forgotten key dies. */
const SERVER_DAYS = 365;

export const issueServer: CommandSpec = {
  name: "issue-server",
  summary: "issue a certificate for control planes and routers",
  details:
    "Give every name and address that agents, routers and people use. localhost and the loopback addresses are added. The files are named after the first name; a star becomes the word wildcard.",
  arguments: [{ form: "<names...>", doc: "host names, IP addresses, *.DOMAIN" }],
  options: [DIR, days(SERVER_DAYS), FORCE, OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl cert issue-server llmgw.example 192.0.2.10 --dir certs", doc: "for a name and an address" },
  ],
  run: async (call) => {
    const { issueServer: make } = await import("../../../pki/commands.ts");
    const made = await make(call.args, makingOf(call, SERVER_DAYS));
    const { certificate, key } = made;
    return showMade(call, made, `server.yaml: tls: { ca: …/ca.pem, cert: ${certificate}, key: ${key} }`);
  },
};
