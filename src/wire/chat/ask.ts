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
export function contentOf(parts: readonly Fields[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only?.["type"] === "text" ? only["text"] : parts;
}

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
