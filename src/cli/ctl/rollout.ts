import { LlmgwError } from "../../core/errors.ts";
import type { AdminClient } from "../../run/client.ts";
import { GetRolloutResponseSchema } from "../../wire/gen/llmgw/v1/changing_pb.js";
import type { CommandSpec } from "../command.ts";
import { OUTPUT_PAGE, TIMEOUT } from "../options.ts";
import { rolloutPage } from "../render/rollout-page.ts";
import { lookingNow } from "./listing.ts";
import { knownName } from "./names.ts";
import { isDocument, outputOf, plain, printDocument, printOutcome } from "./output.ts";
import { withSession } from "./session.ts";
import { timeoutOf, waitUntilReady } from "./wait-ready.ts";
import { waitUntilDone } from "./wait-until.ts";

const PROFILE = [{ form: "<profile>", doc: "its name", completes: ["profile"] }] as const;

const status: CommandSpec = {
  name: "status",
  summary: "how far the change of a profile is, and what it was before",
  arguments: PROFILE,
  options: [{ flags: "--wait", doc: "wait until it is complete" }, TIMEOUT, OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl rollout status qwen3-32b", doc: "how far it is" }],
  run: async (call) => {
    timeoutOf(call);
    return withSession(call, async ({ client }) => {
      const profile = await knownName(client, "profile", call.args[0] ?? "");
      if (call.flags.given("wait")) await waitUntilDone(call, () => notComplete(client, profile));
      const rollout = await client.getRollout({ profile });
      const output = outputOf(call);
      if (isDocument(output)) printDocument(call, output, plain(GetRolloutResponseSchema, rollout));
      else call.io.stdout.write(rolloutPage(rollout, lookingNow(call)));
      return 0;
    });
  },
};

const undo: CommandSpec = {
  name: "undo",
  summary: "apply what a profile was before the last change",
  details: "Without --to: the newest earlier form that did not fail. The last 10 are remembered.",
  arguments: PROFILE,
  options: [
    { flags: "--to <revision>", doc: "the number that `rollout status` shows" },
    { flags: "--wait", doc: "wait until its replicas are ready" },
    TIMEOUT,
    OUTPUT_PAGE,
  ],
  examples: [
    { line: "llmgw ctl rollout undo qwen3-32b --wait", doc: "back to the one before" },
    { line: "llmgw ctl rollout undo qwen3-32b --to 3", doc: "back to a certain one" },
  ],
  run: async (call) => {
    const wanted = call.flags.integer("to", 1) ?? 0;
    timeoutOf(call);
    return withSession(call, async ({ client }) => {
      const profile = await knownName(client, "profile", call.args[0] ?? "");
      const { revision } = await client.undoRollout({ profile, revision: wanted });
      if (call.flags.given("wait")) await waitUntilReady(call, client, profile);
      printOutcome(call, { profile, revision }, `profile/${profile} is what it was as revision ${String(revision)}`);
      return 0;
    });
  },
};

export const rollout: CommandSpec = {
  name: "rollout",
  summary: "follow the change of a profile, or take it back",
  examples: [
    { line: "llmgw ctl rollout status qwen3-32b", doc: "how far it is" },
    { line: "llmgw ctl rollout undo qwen3-32b", doc: "take it back" },
  ],
  commands: [status, undo],
};

async function notComplete(client: AdminClient, profile: string): Promise<string | undefined> {
  const { state, sentence } = await client.getRollout({ profile });
  if (state === "broken") throw new LlmgwError("FAILED", `${profile}: ${sentence}.`);
  return state === "complete" ? undefined : sentence;
}
