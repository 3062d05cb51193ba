import { functionTool } from "../chat/ask.ts";
import { type Fields, fieldsOf, isList, listOf, parseJson, textOf } from "../json-value.ts";
import type { Objections } from "../objections.ts";

/** A tool as the client named it. */
export interface NamedTool {
  readonly kind: "function" | "custom";
  readonly name: string;
  readonly namespace: string | undefined;
}

/** The tools of a Responses request. */
export interface Toolset {
  /** `tools`, `tool_choice` and `parallel_tool_calls` as chat has them. */
  readonly chat: Fields;
  /** By the name that the model calls them. */
  readonly named: ReadonlyMap<string, NamedTool>;
}

interface ChatTool {
  readonly tool: NamedTool;
  readonly chat: Fields;
}

/**
 * Tools that OpenAI's own servers or models bring along are left out where others are left, and refused where not: coding
 * agents offer them whatever model they talk to.
 */
export function readToolset(body: Fields, objections: Objections): Toolset {
  const { tools, parallel_tool_calls: parallel } = body;
  if (tools !== undefined && tools !== null && !isList(tools)) objections.raise("tools", "a list is expected");
  const usable = listOf(tools).flatMap((tool) => chatTools(fieldsOf(tool), undefined));
  const [first] = listOf(tools);
  if (first !== undefined && usable.length === 0)
    objections.raise("tools[0].type", `"${textOf(fieldsOf(first)["type"])}" is run by OpenAI's own servers, not here`);
  const named = new Map(usable.map(({ tool }) => [chatName(tool), tool]));
  if (usable.length === 0) return { chat: {}, named };
  const { allowed, choice } = readChoice(body["tool_choice"], named, objections);
  const offered = usable.filter(({ tool }) => allowed === undefined || allowed.has(chatName(tool)));
  return {
    chat: { tools: offered.map(({ chat }) => chat), tool_choice: choice, parallel_tool_calls: parallel ?? undefined },
    named,
  };
}

/** Chat knows no namespaces, so the name holds it. */
export function chatName({ name, namespace }: Pick<NamedTool, "name" | "namespace">): string {
  if (namespace === undefined) return name;
  return namespace.endsWith("__") ? namespace + name : `${namespace}__${name}`;
}

function chatTools(tool: Fields, namespace: string | undefined): readonly ChatTool[] {
  const name = textOf(tool["name"]);
  if (tool["type"] === "function") {
    const named: NamedTool = { kind: "function", name, namespace };
    return [{ tool: named, chat: functionTool(chatName(named), tool["description"], tool["parameters"]) }];
  }
  if (tool["type"] === "custom") {
    const named: NamedTool = { kind: "custom", name, namespace };
    return [{ tool: named, chat: functionTool(chatName(named), customDescription(tool), CUSTOM_PARAMETERS) }];
  }
  if (tool["type"] === "namespace" && namespace === undefined)
    return listOf(tool["tools"]).flatMap((inner) => chatTools(fieldsOf(inner), name));
  return [];
}

/** A custom tool takes a text as it is; a function's arguments are an object, so the text is its one field. */
const CUSTOM_PARAMETERS: Fields = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

function customDescription({ description, format }: Fields): string {
  const { type, syntax, definition } = fieldsOf(format);
  if (type !== "grammar") return textOf(description);
  return `${textOf(description)}\n\nThe input follows this ${textOf(syntax)} grammar:\n${textOf(definition)}`.trim();
}

interface Choice {
  /** By name; undefined: all. */
  readonly allowed: ReadonlySet<string> | undefined;
  readonly choice: unknown;
}

function readChoice(choice: unknown, named: ReadonlyMap<string, NamedTool>, objections: Objections): Choice {
  if (choice === undefined || choice === null) return { allowed: undefined, choice: undefined };
  if (typeof choice === "string") return { allowed: undefined, choice };
  const fields = fieldsOf(choice);
  if (fields["type"] === "allowed_tools") {
    const allowed = new Set(listOf(fields["tools"]).map((tool) => nameOf(fieldsOf(tool))));
    return { allowed, choice: fields["mode"] === "required" ? "required" : "auto" };
  }
  const name = nameOf(fields);
  if (!named.has(name))
    objections.raise("tool_choice", `there is no tool "${name}" among those that can be called here`);
  return { allowed: undefined, choice: { type: "function", function: { name } } };
}

const nameOf = ({ name, type, namespace }: Fields): string =>
  chatName({
    name: name === undefined ? textOf(type) : textOf(name),
    namespace: typeof namespace === "string" ? namespace : undefined,
  });

/** What a custom tool is given, of a function's arguments; as they are when the model did not keep to the schema. */
export function customInput(args: string): string {
  const { input } = fieldsOf(parseJson(args));
  return typeof input === "string" ? input : args;
}
