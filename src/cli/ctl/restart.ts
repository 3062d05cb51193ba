import type { AdminClient } from "../../run/client.ts";
import type { RestartResponse } from "../../wire/gen/llmgw/v1/changing_pb.js";
import type { Call, CommandSpec } from "../command.ts";
import { OUTPUT_PAGE, TIMEOUT } from "../options.ts";
import { bareName } from "./names.ts";
import { printOutcome } from "./output.ts";
import { type Session, withSession } from "./session.ts";
import { timeoutOf, waitUntilReady } from "./wait-ready.ts";
import { waitUntilDone } from "./wait-until.ts";

export const restart: CommandSpec = {
  name: "restart",
  summary: "replace a profile's replicas by fresh ones, or one of them",
  details:
    "One after another, by the profile's rollout rules: a new one is ready before an old one goes, and what the old one was working on is finished first.",
  arguments: [{ form: "<name>", doc: "a profile or a replica", completes: ["profile", "replica"] }],
  options: [{ flags: "--wait", doc: "wait until all of them are replaced" }, TIMEOUT, OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl restart qwen3-32b --wait", doc: "all replicas of a profile" },
    { line: "llmgw ctl restart qwen3-32b-7f3a", doc: "one replica" },
  ],
  run: async (call) => {
    timeoutOf(call);
    return withSession(call, (session) => restartOne(call, session));
  },
};

async function restartOne(call: Call, { client }: Session): Promise<number> {
  const name = bareName("replica", bareName("profile", call.args[0] ?? ""));
  const ordered = await client.restart({ name });
  if (call.flags.given("wait")) {
    await waitUntilDone(call, () => stillThere(client, ordered));
    await waitUntilReady(call, client, ordered.profile);
  }
  const replicas = ordered.replicas.length === 1 ? "1 replica" : `${String(ordered.replicas.length)} replicas`;
  const done = call.flags.given("wait") ? "restarted" : "to be restarted";
  printOutcome(
    call,
    { profile: ordered.profile, replicas: ordered.replicas },
    `profile/${ordered.profile} ${replicas} ${done}`,
  );
  return 0;
}

async function stillThere(client: AdminClient, { profile, replicas }: RestartResponse): Promise<string | undefined> {
  const there = new Map((await client.listReplicas({ profile })).replicas.map(({ id, state }) => [id, state]));
  const left = replicas.filter((id) => (there.get(id) ?? "stopped") !== "stopped");
  return left.length === 0 ? undefined : left.map((id) => `${id} is ${there.get(id) ?? ""}`).join(", ");
}
