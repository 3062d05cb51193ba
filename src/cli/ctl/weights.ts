import { ListWeightsResponseSchema, NodeWeightsSchema } from "../../wire/gen/llmgw/v1/operating_pb.js";
import type { CommandSpec } from "../command.ts";
import { NODE_FILTER, OUTPUT, WATCH } from "../options.ts";
import { weightsColumns } from "../render/holding-columns.ts";
import { showList } from "./listing.ts";
import { nodeFilter } from "./names.ts";
import { withSession } from "./session.ts";

export const weights: CommandSpec = {
  name: "weights",
  summary: "list the models' files that nodes hold, and those on their way",
  options: [NODE_FILTER, OUTPUT, WATCH],
  examples: [
    { line: "llmgw ctl weights", doc: "what is where, and who needs it?" },
    { line: "llmgw ctl weights -w", doc: "while they are fetched" },
  ],
  run: (call) =>
    withSession(call, async ({ client }) => {
      const node = await nodeFilter(client, call);
      return showList(call, client, {
        answer: ListWeightsResponseSchema,
        item: NodeWeightsSchema,
        ask: (it, signal) => it.listWeights({ node }, { signal }),
        rows: (answer) => answer.weights,
        columns: weightsColumns,
        name: ({ node: id, source }) => `weights/${id}/${source}`,
        empty: "No node holds weights yet: they are fetched for the first replica on a node.",
      });
    }),
};
