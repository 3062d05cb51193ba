import type { Block } from "../chat/blocks.ts";
import { type Fields, withoutUnset } from "../json-value.ts";
import { customInput, type NamedTool } from "./toolset.ts";

/** What of an answer's text the items show beside it. */
export interface ItemText {
  readonly text: string;
  readonly logprobs: readonly unknown[];
}

export type ToolNames = ReadonlyMap<string, NamedTool>;

/** How a tool is called in the client's words. */
export const toolOf = (name: string, tools: ToolNames): NamedTool =>
  tools.get(name) ?? { kind: "function", name, namespace: undefined };

/** An id that no other item of any answer has, and the same each time. */
export function itemId(
  block: Block,
  place: { readonly answerId: string; readonly index: number },
  tools: ToolNames,
): string {
  const unique = `${place.answerId.replace(/^chatcmpl-/, "")}_${String(place.index)}`;
  if (block.kind === "reasoning") return `rs_${unique}`;
  if (block.kind === "text") return `msg_${unique}`;
  return `${toolOf(block.name, tools).kind === "custom" ? "ctc" : "fc"}_${unique}`;
}

/** An output item: as it begins when there is no text yet, as it ends when there is. */
export function outputItem(block: Block, id: string, { said, tools }: ItemState): Fields {
  const status = said === undefined ? "in_progress" : "completed";
  switch (block.kind) {
    case "reasoning":
      return { id, type: "reasoning", summary: [], content: said === undefined ? [] : [partOf(block, said)], status };
    case "text":
      return {
        id,
        type: "message",
        status,
        role: "assistant",
        content: said === undefined ? [] : [partOf(block, said)],
      };
    case "tool":
      return callItem({ id, callId: block.id }, { said, status, tool: toolOf(block.name, tools) });
  }
}

interface ItemState {
  /** Undefined: it has just begun. */
  readonly said: ItemText | undefined;
  readonly tools: ToolNames;
}

interface CallState {
  readonly said: ItemText | undefined;
  readonly status: string;
  readonly tool: NamedTool;
}

interface CallIds {
  /** The item's. */
  readonly id: string;
  /** The call's, by which its result names it. */
  readonly callId: string;
}

function callItem({ id, callId }: CallIds, { said, status, tool }: CallState): Fields {
  const { name, namespace, kind } = tool;
  const args = said?.text ?? "";
  const own = kind === "custom" ? { input: customInput(args) } : { arguments: args };
  const type = kind === "custom" ? "custom_tool_call" : "function_call";
  return withoutUnset({ id, type, status, call_id: callId, name, namespace, ...own });
}

/** The one part of a message or of a thought. */
export function partOf({ kind }: Block, { text, logprobs }: ItemText): Fields {
  if (kind === "reasoning") return { type: "reasoning_text", text };
  return { type: "output_text", text, annotations: [], logprobs };
}
