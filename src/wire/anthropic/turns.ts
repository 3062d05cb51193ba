import { assistantMessage, textPart, toolCall, userMessage } from "../chat/ask.ts";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "../json-value.ts";
import type { Objections } from "../objections.ts";
import { type Place, readParts, toolResultOf } from "./content.ts";

/** The system prompt and the messages of a Messages request, as chat has them: in the same order. */
export function readTurns({ system, messages }: Fields, objections: Objections): readonly Fields[] {
  const prompt = systemText(system, { path: "system", objections });
  const first = prompt === "" ? [] : [{ role: "system", content: prompt }];
  const turns = listOf(messages).flatMap((message, index) => {
    const at = { path: `messages.${String(index)}`, objections };
    return readTurn(message, at);
  });
  return [...first, ...turns];
}

/** Blocks are paragraphs: the first may be a line of the client's own that is none of the prompt. */
function systemText(system: unknown, at: Place): string {
  if (typeof system === "string") return system;
  if (system !== undefined && system !== null && !Array.isArray(system))
    at.objections.raise(at.path, "a text or a list of text blocks is expected");
  return listOf(system)
    .map((block, index) => textBlock(block, { ...at, path: `${at.path}.${String(index)}` }))
    .join("\n\n");
}

function textBlock(block: unknown, { path, objections }: Place): string {
  const { type, text } = fieldsOf(block);
  if (type === "text" && typeof text === "string") return text;
  objections.raise(path, "only text blocks can stand here");
  return "";
}

function readTurn(message: unknown, at: Place): readonly Fields[] {
  if (!isFields(message)) {
    at.objections.raise(at.path, "a message is an object with a role and its content");
    return [];
  }
  const { role, content } = message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(blocks)) {
    at.objections.raise(`${at.path}.content`, "a text or a list of blocks is expected");
    return [];
  }
  const inside = { ...at, path: `${at.path}.content` };
  if (role === "user") return userTurn(blocks, inside);
  if (role === "assistant") return [assistantTurn(blocks, inside)];
  if (role === "system") return [{ role, content: systemText(blocks, inside) }];
  at.objections.raise(`${at.path}.role`, 'must be "user", "assistant" or "system"');
  return [];
}

/** Results of tools are messages of their own in chat, and come before what the user says. */
function userTurn(blocks: readonly unknown[], at: Place): readonly Fields[] {
  const results: Fields[] = [];
  const parts: Fields[] = [];
  blocks.forEach((block, index) => {
    const place = { ...at, path: `${at.path}.${String(index)}` };
    if (fieldsOf(block)["type"] !== "tool_result") {
      parts.push(...readParts(block, place));
      return;
    }
    const { message, images } = toolResultOf(fieldsOf(block), place);
    results.push(message);
    parts.push(...images);
  });
  // A turn of nothing but results is no turn of the user's in chat.
  if (parts.length === 0 && results.length > 0) return results;
  return [...results, userMessage(parts)];
}

/** What Anthropic's servers ran themselves, and thoughts that only they can read. */
const NOT_FOR_ENGINES = /^(?:redacted_thinking|server_tool_use|.+_tool_result|container_upload|fallback)$/;

function assistantTurn(blocks: readonly unknown[], at: Place): Fields {
  const parts: Fields[] = [];
  const calls: Fields[] = [];
  const thoughts: string[] = [];
  blocks.forEach((block, index) => {
    const fields = fieldsOf(block);
    const type = textOf(fields["type"]);
    if (type === "text") parts.push(textPart(textOf(fields["text"])));
    else if (type === "thinking") thoughts.push(textOf(fields["thinking"]));
    else if (type === "tool_use") calls.push(callOf(fields));
    else if (!NOT_FOR_ENGINES.test(type))
      at.objections.raise(`${at.path}.${String(index)}`, `a block of type "${type}" cannot be given to this model`);
  });
  return assistantMessage({ parts, calls, thoughts });
}

const callOf = ({ id, name, input }: Fields): Fields => toolCall(textOf(id), textOf(name), JSON.stringify(input ?? {}));
