import type { CommandSpec } from "../../command.ts";
import { init } from "./init.ts";
import { issueClient } from "./issue-client.ts";
import { issueServer } from "./issue-server.ts";
import { list } from "./list.ts";
import { revoke } from "./revoke.ts";

export const cert: CommandSpec = {
  name: "cert",
  summary: "make and revoke certificates; works without a control plane",
  details:
    "Keys are written with mode 0600, and no file is written over without --force. Certificates are backdated by five minutes, because clocks differ. docs/guide/certificates.md shows the whole way.",
  examples: [
    { line: "llmgw ctl cert init --dir certs", doc: "make the authority" },
    { line: "llmgw ctl cert issue-server llmgw.example --dir certs", doc: "a certificate for the control plane" },
    { line: "llmgw ctl cert issue-client gpu-a-01 --dir certs", doc: "and one for a node" },
  ],
  commands: [init, issueServer, issueClient, list, revoke],
};
