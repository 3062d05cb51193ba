import { err, ok, type Result } from "../../core/result.ts";
import { type ChatAsk, type ChatDialect, continuation, streamFields } from "../chat/ask.ts";
import { type Fields, fieldsOf, isFields, isList, listOf, textOf, without, withoutUnset } from "../json-value.ts";
import { type Objection, Objections } from "../objections.ts";
import type { MessagesAsk } from "./answer.ts";
import { readTools } from "./tools.ts";
import { readTurns } from "./turns.ts";

export interface MessagesRequest extends ChatAsk {
  readonly ask: Omit<MessagesAsk, "requestId">;
}

/** Fields that chat has under another name or not at all. What is not in it goes on as it is: engines have more. */
const NOT_OF_CHAT: ReadonlySet<string> = new Set([
  ...["system", "messages", "stop_sequences", "tools", "tool_choice", "thinking", "metadata", "stream"],
  ...["output_config", "output_format", "cache_control", "container", "context_management", "mcp_servers"],
  ...["service_tier", "inference_geo", "speed", "diagnostics", "betas", "anthropic_version"],
]);

/** A Messages request as chat asks it. What the model would see otherwise than the client means it is refused. */
export function chatFromMessages(body: Fields, dialect: ChatDialect): Result<MessagesRequest, Objection> {
  const objections = new Objections();
  if (!isList(body["messages"]) || body["messages"].length === 0)
    objections.raise("messages", "at least one message is required");
  const turns = readTurns(body, objections);
  const isStream = body["stream"] === true;
  const thinking = textOf(fieldsOf(body["thinking"])["type"]);
  const chat = withoutUnset({
    ...without(body, NOT_OF_CHAT),
    messages: turns,
    ...streamFields(isStream),
    ...readTools(body, objections),
    stop: isList(body["stop_sequences"]) ? body["stop_sequences"] : undefined,
    user: userOf(body["metadata"]),
    response_format: formatOf(body),
    ...(dialect.templateSettings ? thinkingSettings(thinking) : {}),
    ...continuation(turns, dialect),
  });
  if (objections.first !== undefined) return err(objections.first);
  const stopSequences = listOf(body["stop_sequences"]).filter((stop) => typeof stop === "string");
  const wantsThinking = thinking === "enabled" || thinking === "adaptive";
  return ok({ body: chat, isStream, ask: { wantsThinking, stopSequences } });
}

function userOf(metadata: unknown): string | undefined {
  const user = fieldsOf(metadata)["user_id"];
  return typeof user === "string" ? user : undefined;
}

/** Of the two places where a schema for the answer may stand, the newer first. */
function formatOf({ output_config: config, output_format: format }: Fields): Fields | undefined {
  const { type, schema } = fieldsOf(fieldsOf(config)["format"] ?? format);
  if (type !== "json_schema" || !isFields(schema)) return undefined;
  return { type: "json_schema", json_schema: { name: "answer", schema, strict: true } };
}

/** "adaptive" leaves it to the model, as saying nothing does. */
function thinkingSettings(thinking: string): Fields {
  if (thinking !== "enabled" && thinking !== "disabled") return {};
  return { chat_template_kwargs: { enable_thinking: thinking === "enabled" } };
}
