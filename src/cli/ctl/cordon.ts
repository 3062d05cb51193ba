import type { Call, CommandSpec } from "../command.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { knownName } from "./names.ts";
import { printOutcome } from "./output.ts";
import { type Session, withSession } from "./session.ts";

const NODE = [{ form: "<node>", doc: "its name", completes: ["node"] }] as const;

export const cordon: CommandSpec = {
  name: "cordon",
  summary: "close a node to new replicas; those on it stay",
  arguments: NODE,
  options: [OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl cordon gpu-a-01", doc: "nothing new goes there" }],
  run: (call) => withSession(call, (session) => setCordon(call, session, true)),
};

export const uncordon: CommandSpec = {
  name: "uncordon",
  summary: "open a node to new replicas again; this ends a drain too",
  arguments: NODE,
  options: [OUTPUT_PAGE],
  examples: [{ line: "llmgw ctl uncordon gpu-a-01", doc: "it may get replicas again" }],
  run: (call) => withSession(call, (session) => setCordon(call, session, false)),
};

async function setCordon(call: Call, { client }: Session, cordoned: boolean): Promise<number> {
  const node = await knownName(client, "node", call.args[0] ?? "");
  await client.cordon({ node, cordoned });
  printOutcome(call, { node, cordoned }, `node/${node} ${cordoned ? "cordoned" : "uncordoned"}`);
  return 0;
}
