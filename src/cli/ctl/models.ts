import { ListModelsResponseSchema, ModelSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { CommandSpec } from "../command.ts";
import { OUTPUT, WATCH } from "../options.ts";
import { modelColumns } from "../render/columns.ts";
import { showList } from "./listing.ts";
import { withSession } from "./session.ts";

export const models: CommandSpec = {
  name: "models",
  summary: "list the names that clients can ask for",
  options: [OUTPUT, WATCH],
  examples: [{ line: "llmgw ctl models", doc: "each name, and what is waited for where nothing is ready" }],
  run: (call) =>
    withSession(call, ({ client }) =>
      showList(call, client, {
        answer: ListModelsResponseSchema,
        item: ModelSchema,
        ask: (it, signal) => it.listModels({}, { signal }),
        rows: (answer) => answer.models,
        notice: (answer) => answer.notice,
        columns: modelColumns,
        name: (model) => `model/${model.name}`,
        empty: "No model is served yet: `llmgw ctl run SOURCE` serves one.",
      }),
    ),
};
