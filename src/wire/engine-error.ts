import { anthropicErrorBody, isAnthropicError } from "./anthropic/error.ts";
import { type Fields, fieldsOf, isFields, listOf, parseJson, textOf, without } from "./json-value.ts";

/** What an engine says is wrong, whatever shape it says it in. */
export interface EngineFault {
  readonly message: string;
  /** "" when it names none. */
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
  /** As the engine counts it; 0 when it does not say. */
  readonly status: number;
  /** Everything else it says of it. */
  readonly more: Fields;
}

/** Undefined for what reports no error. */
export function readEngineFault(value: unknown): EngineFault | undefined {
  if (!isFields(value)) return undefined;
  const { error, detail } = value;
  if (isFields(error)) return faultOf(error);
  if (typeof error === "string" && error !== "") return faultOf({ message: error });
  if (value["object"] === "error") return faultOf(value);
  if (detail !== undefined) return faultOf({ message: detailText(detail) });
  return undefined;
}

function faultOf(fields: Fields): EngineFault {
  const { message, type, code, param } = fields;
  return {
    message: textOf(message),
    type: textOf(type),
    code: typeof code === "string" ? code : null,
    param: typeof param === "string" ? param : null,
    status: typeof code === "number" ? code : 0,
    more: without(fields, NAMED),
  };
}

const NAMED: ReadonlySet<string> = new Set(["message", "type", "code", "param", "object"]);

/** FastAPI's own refusals: a text, or a list of places and what is wrong there. */
function detailText(detail: unknown): string {
  if (typeof detail === "string") return detail;
  const problems = listOf(detail).map((problem) => {
    const { loc, msg } = fieldsOf(problem);
    return `${listOf(loc).map(String).join(".")}: ${textOf(msg)}`;
  });
  return problems.length > 0 ? problems.join("; ") : JSON.stringify(detail);
}

const TOO_LONG =
  /maximum context length|exceeds? (?:the )?(?:available |model'?s? )?(?:maximum )?context|context (?:size|length|window).*exceed|longer than the (?:maximum )?(?:model|context)/i;

const TOO_LONG_CODE = "context_length_exceeded";

/** Whether the prompt does not fit: clients shorten theirs when they are told so in the words that they look for. */
const isTooLong = ({ message, type, code }: EngineFault): boolean =>
  type === "exceed_context_size_error" || code === TOO_LONG_CODE || TOO_LONG.test(message);

interface EngineRefusal {
  readonly status: number;
  readonly body: string;
}

/** The engine's error as OpenAI's clients read it; undefined when it is so already, or reports nothing that could be. */
export function asOpenaiError({ status, body }: EngineRefusal): string | undefined {
  const value = parseJson(body);
  const isText = value === undefined && body.trim() !== "";
  const fault = isText ? faultOf({ message: plainText(body, status) }) : readEngineFault(value);
  if (fault === undefined) return undefined;
  const code = status === 400 && isTooLong(fault) ? TOO_LONG_CODE : fault.code;
  if (isOpenaiError(value) && code === fault.code) return undefined;
  const { message, param, more } = fault;
  const keepsType = code !== TOO_LONG_CODE && TYPE.test(fault.type);
  const type = keepsType ? fault.type : openaiType(status);
  return JSON.stringify({ error: { ...more, message, type, param, code } });
}

/** The same for Anthropic's. An error in Anthropic's own shape stays as it is: its clients match its words. */
export function asAnthropicError({ status, body }: EngineRefusal, requestId: string): string | undefined {
  const value = parseJson(body);
  if (isAnthropicError(value)) return undefined;
  const fault = readEngineFault(value) ?? faultOf({ message: plainText(body, status) });
  const message = status === 400 && isTooLong(fault) ? inAnthropicsWords(fault) : fault.message;
  return anthropicErrorBody({ status, message }, requestId);
}

/** Coding agents shorten the conversation when they read these words. */
function inAnthropicsWords({ message, more }: EngineFault): string {
  const { n_prompt_tokens: prompt, n_ctx: context } = more;
  const isCounted = typeof prompt === "number" && typeof context === "number";
  return `prompt is too long: ${isCounted ? `${String(prompt)} tokens > ${String(context)} maximum` : message}`;
}

/** As OpenAI writes its types; engines also put names of classes there. */
const TYPE = /^[a-z_]+$/;

function openaiType(status: number): string {
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

function isOpenaiError(value: unknown): boolean {
  const { error } = fieldsOf(value);
  if (!isFields(error)) return false;
  const { message, type, param, code } = error;
  return typeof message === "string" && TYPE.test(textOf(type)) && isTextOrNull(param) && isTextOrNull(code);
}

const isTextOrNull = (value: unknown): boolean => typeof value === "string" || value === null;

const plainText = (body: string, status: number): string => {
  const text = body.trim();
  return text === "" || text.startsWith("<") ? `The engine answered with ${String(status)}.` : text.slice(0, 2_000);
};
