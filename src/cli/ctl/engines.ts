import {
  type InstalledEngine,
  InstalledEngineSchema,
  ListEnginesResponseSchema,
} from "../../wire/gen/llmgw/v1/operating_pb.js";
import type { CommandSpec } from "../command.ts";
import { NODE_FILTER, OUTPUT, WATCH } from "../options.ts";
import { engineColumns } from "../render/holding-columns.ts";
import { showList } from "./listing.ts";
import { nodeFilter } from "./names.ts";
import { withSession } from "./session.ts";

export const engines: CommandSpec = {
  name: "engines",
  summary: "list the engine builds that nodes can run, and which replicas run them",
  options: [NODE_FILTER, OUTPUT, WATCH],
  examples: [
    { line: "llmgw ctl engines", doc: "which versions are where?" },
    { line: "llmgw ctl engines --node gpu-a-01 -o wide", doc: "of one node, with the paths" },
  ],
  run: (call) =>
    withSession(call, async ({ client }) => {
      const node = await nodeFilter(client, call);
      return showList(call, client, {
        answer: ListEnginesResponseSchema,
        item: InstalledEngineSchema,
        ask: (it, signal) => it.listEngines({ node }, { signal }),
        rows: (answer) => answer.engines,
        columns: engineColumns,
        name: nameOf,
        empty: "No node has an engine yet: the first replica on a node installs one.",
      });
    }),
};

/** One that was not installed by llmgw may have the version of one that was. */
function nameOf({ node, build }: InstalledEngine): string {
  const { name = "", version = "", origin = "installed" } = build ?? {};
  return `engine/${node}/${name}@${version}${origin === "installed" ? "" : `/${origin}`}`;
}
