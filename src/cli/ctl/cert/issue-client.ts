import { GRANTED_ROLES, type GrantedRole, isGrantedRole } from "../../../core/roles.ts";
import type { Made } from "../../../pki/commands.ts";
import type { CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { days, DIR, FORCE, makingOf, showMade } from "./options.ts";

/** A year: long enough to be renewed by hand, short enough that a forgotten key dies. */
const CLIENT_DAYS = 365;

export const issueClient: CommandSpec = {
  name: "issue-client",
  summary: "issue a certificate for a node, an operator or a router",
  details:
    "A node's certificate carries its id as common name and as DNS name, and admits no other node: ids are compared exactly, with upper and lower case. With another role its owner may call the admin API without a token, as far as the role goes: a viewer reads, an operator also changes what runs, an admin may do everything. A router may be a router and nothing else.",
  arguments: [{ form: "<node>", doc: "the node's id, or the name of whoever it is for", completes: ["node"] }],
  options: [
    { flags: "--role <role>", doc: "what it is for (default: node)", choices: ["node", ...GRANTED_ROLES] },
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
    const asked = call.flags.textOr("role", "node");
    const role = isGrantedRole(asked) ? asked : "node";
    const made = await make({ id: call.args[0] ?? "", role }, makingOf(call, CLIENT_DAYS));
    return showMade(call, made, hintFor(role, made));
  },
};

/** Where it is named. */
function hintFor(role: GrantedRole | "node", { certificate, key }: Made): string {
  const files = `{ ca: …/ca.pem, cert: ${certificate}, key: ${key} }`;
  if (role === "node") return `agent.yaml on that node: tls: ${files}`;
  if (role === "router") return `router.yaml: server_tls: ${files}`;
  return `llmgw ctl login https://HOST:7443 --ca …/ca.pem --cert ${certificate} --key ${key}`;
}
