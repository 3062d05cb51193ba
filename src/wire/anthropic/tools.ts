import { functionTool } from "../chat/ask.ts";
import { type Fields, fieldsOf, isFields, isList, listOf, textOf } from "../json-value.ts";
import type { Objections } from "../objections.ts";

/**
 * `tools`, `tool_choice` and `parallel_tool_calls` as chat has them. Tools without a schema are Anthropic's own: its
 * servers run them or its models know them by heart. They are left out where others are left, and refused where not.
 */
export function readTools({ tools, tool_choice: choice }: Fields, objections: Objections): Fields {
  if (tools !== undefined && tools !== null && !isList(tools)) objections.raise("tools", "a list is expected");
  const offered = listOf(tools).map(fieldsOf);
  const usable = offered.filter(({ input_schema: schema }) => isFields(schema));
  const [first] = offered;
  if (first !== undefined && usable.length === 0) {
    const type = textOf(first["type"]);
    objections.raise(
      "tools.0",
      type === "" ? "input_schema: Field required" : `"${type}" is run by Anthropic's own servers or models, not here`,
    );
  }
  return {
    tools: usable.length === 0 ? undefined : usable.map(toolOf),
    ...(usable.length === 0 ? {} : choiceOf(choice, usable, objections)),
  };
}

const toolOf = ({ name, description, input_schema: schema }: Fields): Fields =>
  functionTool(textOf(name), description, schema);

const CHOICES: Readonly<Record<string, string>> = { auto: "auto", any: "required", none: "none" };

function choiceOf(choice: unknown, usable: readonly Fields[], objections: Objections): Fields {
  const { type, name, disable_parallel_tool_use: isSerial } = fieldsOf(choice);
  const parallel = isSerial === true ? { parallel_tool_calls: false } : {};
  if (type === undefined) return parallel;
  if (type === "tool") {
    if (!usable.some((tool) => tool["name"] === name))
      objections.raise("tool_choice.name", `there is no tool "${textOf(name)}" among those that can be called here`);
    return { tool_choice: { type: "function", function: { name } }, ...parallel };
  }
  const said = CHOICES[textOf(type)];
  if (said === undefined) objections.raise("tool_choice.type", "must be one of auto, any, tool, none");
  return { tool_choice: said, ...parallel };
}
