import type { Call, CommandSpec } from "../command.ts";
import { LlmgwError } from "../../core/errors.ts";
import { ListNodesResponseSchema, NodeSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { OUTPUT, WATCH } from "../options.ts";
import { nodeColumns } from "../render/columns.ts";
import { nodePage } from "../render/node-page.ts";
import { type Listing, lookingNow, noticeLine, showList } from "./listing.ts";
import { knownName } from "./names.ts";
import { outputOf } from "./output.ts";
import { type Session, withSession } from "./session.ts";

const ALL: Listing<typeof ListNodesResponseSchema, typeof NodeSchema> = {
  answer: ListNodesResponseSchema,
  item: NodeSchema,
  ask: (client, signal) => client.listNodes({}, { signal }),
  rows: (answer) => answer.nodes,
  notice: (answer) => answer.notice,
  columns: nodeColumns,
  name: (node) => `node/${node.id}`,
  empty: "There are no nodes yet: start `llmgw agent` on one.",
};

export const nodes: CommandSpec = {
  name: "nodes",
  summary: "list the nodes, or show one node's page",
  arguments: [
    { form: "[name]", doc: "show this node: hardware, engines, weights, replicas, reasons", completes: ["node"] },
  ],
  options: [OUTPUT, WATCH],
  examples: [
    { line: "llmgw ctl nodes", doc: "every node with its state" },
    { line: "llmgw ctl nodes gpu-a-01", doc: "everything known of one node" },
    { line: "llmgw ctl nodes -o json", doc: "for scripts" },
  ],
  run: (call) => withSession(call, (session) => showNodes(call, session)),
};

async function showNodes(call: Call, { client }: Session): Promise<number> {
  const [asked] = call.args;
  if (asked === undefined) return showList(call, client, ALL);
  const name = await knownName(client, "node", asked);
  const isPage = outputOf(call) === "table" && !call.flags.given("watch");
  if (!isPage) return showList(call, client, { ...ALL, ask: (it, signal) => it.listNodes({ id: name }, { signal }) });
  const {
    nodes: [node],
    notice,
  } = await client.listNodes({ id: name });
  if (node === undefined) throw new LlmgwError("NOT_FOUND", `The node "${name}" has just been removed.`);
  call.io.stdout.write(`${noticeLine(notice)}${nodePage(node, lookingNow(call))}`);
  return 0;
}
