import { imagePart, textPart } from "../chat/ask.ts";
import { type Fields, fieldsOf, listOf, textOf } from "../json-value.ts";
import type { Objections } from "../objections.ts";

/** Where in a request something stands, and who hears what is wrong with it. */
export interface Place {
  readonly path: string;
  readonly objections: Objections;
}

/** A block that a user sends, as parts of a chat message. */
export function readParts(block: unknown, at: Place): readonly Fields[] {
  const fields = fieldsOf(block);
  switch (fields["type"]) {
    case "text":
      return [textPart(textOf(fields["text"]))];
    case "image":
      return readImage(fieldsOf(fields["source"]), at);
    case "document":
      return readDocument(fields, at);
    case "search_result":
      return [textPart(withTitle(fields, textsOf(fields["content"]).join("\n")))];
    case "container_upload":
      return [];
    default:
      at.objections.raise(at.path, `a block of type "${textOf(fields["type"])}" cannot be given to this model`);
      return [];
  }
}

function readImage({ type, media_type: mediaType, data, url }: Fields, { path, objections }: Place): readonly Fields[] {
  if (type === "base64") return [imagePart(`data:${textOf(mediaType)};base64,${textOf(data)}`)];
  if (type === "url") return [imagePart(textOf(url))];
  objections.raise(`${path}.source`, "an image comes as base64 or as a url: files are not kept here");
  return [];
}

/** Engines read texts and pictures; a PDF would have to be taken apart for them. */
function readDocument(fields: Fields, at: Place): readonly Fields[] {
  const { type, data, content } = fieldsOf(fields["source"]);
  if (type === "text") return [textPart(withTitle(fields, textOf(data)))];
  if (type === "content" && typeof content === "string") return [textPart(withTitle(fields, content))];
  if (type === "content") return listOf(content).flatMap((part) => readParts(part, at));
  at.objections.raise(`${at.path}.source`, "this model reads documents only as text: send the document's text");
  return [];
}

const withTitle = ({ title }: Fields, text: string): string =>
  typeof title === "string" && title !== "" ? `${title}\n\n${text}` : text;

const textsOf = (content: unknown): readonly string[] =>
  listOf(content).flatMap((part) => {
    const { type, text } = fieldsOf(part);
    return type === "text" && typeof text === "string" ? [text] : [];
  });

interface ToolResult {
  readonly message: Fields;
  /** Chat's results are texts: pictures follow with what the user says. */
  readonly images: readonly Fields[];
}

export function toolResultOf({ tool_use_id: id, content, is_error: isError }: Fields, at: Place): ToolResult {
  const parts = listOf(content).flatMap((part, index) => {
    // A pointer into Anthropic's own tool search.
    if (fieldsOf(part)["type"] === "tool_reference") return [textPart(textOf(fieldsOf(part)["tool_name"]))];
    return readParts(part, { ...at, path: `${at.path}.content.${String(index)}` });
  });
  const text = typeof content === "string" ? content : textsOf(parts).join("\n");
  const said = text === "" && isError === true ? "The tool failed." : text;
  return {
    message: { role: "tool", tool_call_id: textOf(id), content: said },
    images: parts.filter(({ type }) => type === "image_url"),
  };
}
