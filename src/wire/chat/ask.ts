import type { Fields } from "../json-value.ts";

/** A request of another API as chat asks it. */
export interface ChatAsk {
  readonly body: Fields;
  /** Whether the client wants its answer as a stream. */
  readonly isStream: boolean;
}

/** What the engine takes beyond OpenAI's chat. */
export interface ChatDialect {
  /** `chat_template_kwargs`: settings of the model's own template, such as whether it thinks. */
  readonly templateSettings: boolean;
  /** It goes on with a last message of the assistant only when `continue_final_message` asks for it. */
  readonly continuesWhenAsked: boolean;
}

/** Streams count their tokens only when they are asked to. */
export const streamFields = (isStream: boolean): Fields =>
  isStream ? { stream: true, stream_options: { include_usage: true } } : {};

/** A text alone, or the parts. */
function contentOf(parts: readonly Fields[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only?.["type"] === "text" ? only["text"] : parts;
}

export const userMessage = (parts: readonly Fields[]): Fields => ({
  role: "user",
  content: parts.length === 0 ? "" : contentOf(parts),
});

interface AssistantTurn {
  readonly parts: readonly Fields[];
  readonly calls: readonly Fields[];
  readonly thoughts: readonly string[];
}

export const assistantMessage = ({ parts, calls, thoughts }: AssistantTurn): Fields => ({
  role: "assistant",
  content: parts.length === 0 ? (calls.length > 0 ? null : "") : contentOf(parts),
  ...(thoughts.length > 0 ? { reasoning_content: thoughts.join("\n") } : {}),
  ...(calls.length > 0 ? { tool_calls: calls } : {}),
});

/** What has the engine go on with a last message of the assistant's instead of answering it. */
export const continuation = (messages: readonly Fields[], { continuesWhenAsked }: ChatDialect): Fields =>
  continuesWhenAsked && messages.at(-1)?.["role"] === "assistant"
    ? { continue_final_message: true, add_generation_prompt: false }
    : {};

export const textPart = (text: string): Fields => ({ type: "text", text });

export const imagePart = (url: string): Fields => ({ type: "image_url", image_url: { url } });

export const functionTool = (name: string, description: unknown, parameters: unknown): Fields => ({
  type: "function",
  function: {
    name,
    ...(typeof description === "string" ? { description } : {}),
    parameters: parameters ?? { type: "object", properties: {} },
  },
});

export const toolCall = (id: string, name: string, args: string): Fields => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
