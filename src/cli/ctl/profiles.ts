import { ListProfilesResponseSchema, ProfileSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { CommandSpec } from "../command.ts";
import { OUTPUT, WATCH } from "../options.ts";
import { profileColumns } from "../render/columns.ts";
import { showList } from "./listing.ts";
import { knownName } from "./names.ts";
import { withSession } from "./session.ts";

export const profiles: CommandSpec = {
  name: "profiles",
  summary: "list what is to run",
  arguments: [{ form: "[name]", doc: "only this profile", completes: ["profile"] }],
  options: [OUTPUT, WATCH],
  examples: [
    { line: "llmgw ctl profiles", doc: "every profile and how many of its replicas are ready" },
    { line: "llmgw ctl profiles -w", doc: "what changes, until Ctrl-C" },
  ],
  run: (call) =>
    withSession(call, async ({ client }) => {
      const [asked = ""] = call.args;
      const name = asked === "" ? "" : await knownName(client, "profile", asked);
      return showList(call, client, {
        answer: ListProfilesResponseSchema,
        item: ProfileSchema,
        ask: (it, signal) => it.listProfiles({ name }, { signal }),
        rows: (answer) => answer.profiles,
        notice: (answer) => answer.notice,
        columns: profileColumns,
        name: (profile) => `profile/${profile.name}`,
        empty: "There are no profiles yet: `llmgw ctl run SOURCE` or `llmgw ctl apply -f FILE` makes one.",
      });
    }),
};
