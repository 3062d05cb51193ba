import { stringify } from "yaml";
import type { Profile } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { CommandSpec } from "../command.ts";
import { withSession } from "./session.ts";

export const exportAll: CommandSpec = {
  name: "export",
  summary: "print everything that is to run, as one YAML file",
  details: "`llmgw ctl apply -f` of it restores the same. Values that are the default are left out.",
  examples: [{ line: "llmgw ctl export > cluster.yaml", doc: "for a repository, or another control plane" }],
  run: (call) =>
    withSession(call, async ({ client }) => {
      call.io.stdout.write(manifestOf((await client.listProfiles({})).profiles));
      return 0;
    }),
};

/** One document a profile. */
export const manifestOf = (profiles: readonly Pick<Profile, "manifest">[]): string =>
  profiles.map(({ manifest }) => stringify(JSON.parse(manifest), { aliasDuplicateObjects: false })).join("---\n");
