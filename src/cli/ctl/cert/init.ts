import type { CommandSpec } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { days, DIR, FORCE, makingOf, showMade } from "./options.ts";

/** Ten years: to replace an authority is to touch every node. */
const AUTHORITY_DAYS = 3650;

export const init: CommandSpec = {
  name: "init",
  summary: "make a certificate authority: ca.pem, ca-key.pem and an empty crl.pem",
  details:
    "Whoever has ca-key.pem can make a certificate for any node and any operator: keep it where only operators get. No node and no control plane needs it.",
  options: [DIR, days(AUTHORITY_DAYS), FORCE, OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl cert init --dir certs", doc: "once for a cluster" }],
  run: async (call) => {
    const { initAuthority } = await import("../../../pki/commands.ts");
    const making = makingOf(call, AUTHORITY_DAYS);
    const made = await initAuthority(making);
    return showMade(call, made, `Next: \`llmgw ctl cert issue-server HOST --dir ${making.dir}\`.`);
  },
};
