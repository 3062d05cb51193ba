import type { CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { days, DIR, FORCE, makingOf, showMade } from "./options.ts";

/** A year: long enough to be renewed by hand, short enough that a forgotten key dies. */
const CLIENT_DAYS = 365;

export const issueClient: CommandSpec = {
  name: "issue-client",
  summary: "issue a certificate for a node, or for an operator",
  details:
    "A node's certificate carries its id as common name and as DNS name, and admits no other node: ids are compared exactly, with upper and lower case. With --role admin its owner may call the admin API without a token.",
  arguments: [{ form: "<node>", doc: "the node's id, or the operator's name", completes: ["node"] }],
  options: [
    { flags: "--role <role>", doc: "node (default) or admin", choices: ["node", "admin"] },
    DIR,
    days(CLIENT_DAYS),
    FORCE,
    OUTPUT_PAGE,
  ],
  examples: [
    { line: "llmgw ctl cert issue-client gpu-a-01 --dir certs", doc: "for the node gpu-a-01" },
    { line: "llmgw ctl cert issue-client alice --role admin --dir certs", doc: "for an operator" },
  ],
  run: async (call) => {
    const { issueClient: make } = await import("../../../pki/commands.ts");
    const role = call.flags.text("role") === "admin" ? "admin" : "node";
    const made = await make({ id: call.args[0] ?? "", role }, makingOf(call, CLIENT_DAYS));
    const { certificate, key } = made;
    const hint =
      role === "node"
        ? `agent.yaml on that node: tls: { ca: …/ca.pem, cert: ${certificate}, key: ${key} }`
        : `llmgw ctl --ca …/ca.pem --cert ${certificate} --key ${key}`;
    return showMade(call, made, hint);
  },
};
