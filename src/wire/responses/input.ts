import { assistantMessage, imagePart, textPart, toolCall, userMessage } from "../chat/ask.ts";
import { type Fields, fieldsOf, isFields, isList, listOf, textOf } from "../json-value.ts";
import type { Objections } from "../objections.ts";
import { chatName } from "./toolset.ts";

/** `instructions` and `input` of a Responses request as chat's messages: in the same order. */
export function readInput({ instructions, input }: Fields, objections: Objections): readonly Fields[] {
  const conversation = new Conversation(objections);
  if (typeof instructions === "string" && instructions !== "") conversation.instruct(instructions);
  if (typeof input === "string") conversation.user([textPart(input)]);
  else if (isList(input))
    for (const [index, item] of input.entries()) conversation.item(item, `input[${String(index)}]`);
  else objections.raise("input", "a text or a list of items is expected");
  return conversation.messages();
}

/** What OpenAI's servers ran themselves: the model that is asked here has seen nothing of it. */
const NOT_FOR_ENGINES =
  /^(?:(?:web_search|file_search|code_interpreter|image_generation|mcp|tool_search)_call|mcp_(?:list_tools|approval_request|approval_response)|tool_search_output|compaction_trigger)$/;

/** Gathers messages: calls and thoughts of one turn belong into one message of the assistant's. */
class Conversation {
  readonly #objections: Objections;
  readonly #instructions: string[] = [];
  readonly #messages: Fields[] = [];
  #thoughts: string[] = [];
  #parts: Fields[] = [];
  #calls: Fields[] = [];

  constructor(objections: Objections) {
    this.#objections = objections;
  }

  messages(): readonly Fields[] {
    this.#endTurn();
    if (this.#instructions.length === 0) return this.#messages;
    return [{ role: "system", content: this.#instructions.join("\n\n") }, ...this.#messages];
  }

  instruct(text: string): void {
    this.#instructions.push(text);
  }

  user(parts: readonly Fields[]): void {
    this.#endTurn();
    this.#messages.push(userMessage(parts));
  }

  item(value: unknown, path: string): void {
    const item = fieldsOf(value);
    switch (item["type"]) {
      case undefined:
      case "message":
        this.#message(item, path);
        return;
      case "reasoning":
        this.#think(item);
        return;
      case "function_call":
        this.#call(item, textOf(item["arguments"]));
        return;
      case "custom_tool_call":
        this.#call(item, JSON.stringify({ input: textOf(item["input"]) }));
        return;
      case "function_call_output":
      case "custom_tool_call_output":
        this.#result(item, path);
        return;
      default:
        this.#other(textOf(item["type"]), path);
    }
  }

  #other(type: string, path: string): void {
    if (NOT_FOR_ENGINES.test(type)) return;
    const state = type === "item_reference" ? ": no earlier answers are kept here" : "";
    this.#objections.raise(path, `an item of type "${type}" cannot be given to this model${state}`);
  }

  #message({ role, content }: Fields, path: string): void {
    const parts = this.#read(content, `${path}.content`);
    if (role === "assistant") {
      if (this.#calls.length > 0) this.#endTurn();
      this.#parts.push(...parts);
    } else if (role === "system" || role === "developer") this.#developer(parts);
    else if (role === "user") this.user(parts);
    else this.#objections.raise(`${path}.role`, 'must be "user", "assistant", "system" or "developer"');
  }

  /** Many templates take one system message, and only as the first: later ones go with the user's voice. */
  #developer(parts: readonly Fields[]): void {
    const hasSpoken = this.#messages.length > 0 || this.#parts.length > 0 || this.#calls.length > 0;
    if (hasSpoken) this.user(parts);
    else this.#instructions.push(parts.map(({ text }) => textOf(text)).join("\n"));
  }

  #think({ content, summary }: Fields): void {
    if (this.#parts.length > 0 || this.#calls.length > 0) this.#endTurn();
    const said = listOf(content).length > 0 ? content : summary;
    const text = listOf(said)
      .map((part) => textOf(fieldsOf(part)["text"]))
      .join("\n");
    if (text !== "") this.#thoughts.push(text);
  }

  #call({ call_id: id, name, namespace }: Fields, args: string): void {
    const space = typeof namespace === "string" ? namespace : undefined;
    this.#calls.push(toolCall(textOf(id), chatName({ name: textOf(name), namespace: space }), args));
  }

  #result({ call_id: id, output }: Fields, path: string): void {
    this.#endTurn();
    const parts = this.#read(output, `${path}.output`);
    const text = parts.flatMap((part) => (typeof part["text"] === "string" ? [part["text"]] : [])).join("\n");
    this.#messages.push({ role: "tool", tool_call_id: textOf(id), content: text });
    const others = parts.filter(({ type }) => type !== "text");
    if (others.length > 0) this.user(others);
  }

  #endTurn(): void {
    const [thoughts, parts, calls] = [this.#thoughts, this.#parts, this.#calls];
    this.#thoughts = [];
    this.#parts = [];
    this.#calls = [];
    if (parts.length > 0 || calls.length > 0) this.#messages.push(assistantMessage({ parts, calls, thoughts }));
  }

  #read(content: unknown, path: string): readonly Fields[] {
    if (typeof content === "string") return [textPart(content)];
    if (!isList(content)) {
      this.#objections.raise(path, "a text or a list of parts is expected");
      return [];
    }
    return content.flatMap((part, index) => this.#part(fieldsOf(part), `${path}[${String(index)}]`));
  }

  #part(part: Fields, path: string): readonly Fields[] {
    switch (part["type"]) {
      case "input_text":
      case "output_text":
      case "text":
        return [textPart(textOf(part["text"]))];
      case "refusal":
        return [textPart(textOf(part["refusal"]))];
      case "input_image":
        if (typeof part["image_url"] === "string") return [imagePart(part["image_url"])];
        break;
      case "input_audio":
        if (isFields(part["input_audio"])) return [{ type: "input_audio", input_audio: part["input_audio"] }];
        break;
      case "input_file":
        return this.#file(part, path);
    }
    this.#objections.raise(path, `a part of type "${textOf(part["type"])}" cannot be given to this model`);
    return [];
  }

  /** Engines read texts and pictures; anything else would have to be taken apart for them. */
  #file({ file_data: data, filename }: Fields, path: string): readonly Fields[] {
    const text = /^data:text\/[^,]*;base64,(.*)$/s.exec(textOf(data))?.[1];
    if (text === undefined) {
      this.#objections.raise(path, "this model reads files only as text: send the file's text");
      return [];
    }
    return [textPart(`${textOf(filename)}\n\n${Buffer.from(text, "base64").toString("utf8")}`)];
  }
}
