import { countOf, type Fields, fieldsOf, isFields, listOf, textOf } from "../json-value.ts";
import { type ChatUsage, readChatUsage } from "./usage.ts";

/** A part of a tool call. */
export interface ToolPiece {
  /** Which of the answer's calls it belongs to. */
  readonly index: number;
  /** "" when this part does not say. */
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

/** What one chunk of a chat stream adds to the answer; a whole answer is the one piece of itself. */
export interface ChatPiece {
  readonly id: string;
  readonly model: string;
  /** Unix seconds; 0 when it does not say. */
  readonly created: number;
  readonly reasoning: string;
  readonly text: string;
  readonly logprobs: readonly unknown[];
  readonly tools: readonly ToolPiece[];
  /** Why the answer ended; "" while it goes on. */
  readonly finish: string;
  /** The stop sequence that ended it, where the engine tells. */
  readonly stop: string | undefined;
  readonly usage: ChatUsage | undefined;
}

/** Reads a `chat.completion` or a `chat.completion.chunk`; of several choices the first. Undefined for anything else. */
export function readChatPiece(value: unknown): ChatPiece | undefined {
  if (!isFields(value) || (!Array.isArray(value["choices"]) && !isFields(value["usage"]))) return undefined;
  const choice = firstChoice(listOf(value["choices"]));
  const said = fieldsOf(choice["delta"] ?? choice["message"]);
  return {
    id: textOf(value["id"]),
    model: textOf(value["model"]),
    created: countOf(value["created"]) ?? 0,
    reasoning: textOf(said["reasoning_content"] ?? said["reasoning"]),
    text: contentText(said["content"]) + textOf(said["refusal"]),
    logprobs: listOf(fieldsOf(choice["logprobs"])["content"]),
    tools: listOf(said["tool_calls"]).map(toolPiece),
    finish: textOf(choice["finish_reason"]),
    stop: stopOf(choice),
    usage: readChatUsage(value["usage"]),
  };
}

const firstChoice = (choices: readonly unknown[]): Fields =>
  fieldsOf(choices.find((choice) => (fieldsOf(choice)["index"] ?? 0) === 0));

/** A text, or parts of which only those with text count. */
function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => textOf(fieldsOf(part)["text"]))
    .join("");
}

function toolPiece(value: unknown, position: number): ToolPiece {
  const call = fieldsOf(value);
  const { name, arguments: args } = fieldsOf(call["function"]);
  return {
    index: countOf(call["index"]) ?? position,
    id: textOf(call["id"]),
    name: textOf(name),
    // Some engines hand the parsed object over.
    args: isFields(args) ? JSON.stringify(args) : textOf(args),
  };
}

/** vLLM and SGLang each have a name of their own for it; a number is a token, not a text. */
function stopOf(choice: Fields): string | undefined {
  const stop = choice["stop_reason"] ?? choice["matched_stop"];
  return typeof stop === "string" ? stop : undefined;
}
