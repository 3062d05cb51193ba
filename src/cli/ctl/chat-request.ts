import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { type ErrorCode, LlmgwError, messageOf } from "../../core/errors.ts";
import { readChatPiece } from "../../wire/chat/piece.ts";
import { readEngineFault } from "../../wire/engine-error.ts";
import { parseJson } from "../../wire/json-value.ts";
import { readTextOf } from "../io.ts";
import { sseData } from "./sse-data.ts";

export interface ChatTarget {
  /** The router's base URL, with or without /v1. */
  readonly routerUrl: string;
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
  /** Where the router asks for keys. */
  readonly key: string | undefined;
}

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export type ChatBody = Readonly<Record<string, unknown>> & {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
};

/** The whole answer as the router gave it. */
export async function chatOnce(target: ChatTarget, body: ChatBody): Promise<unknown> {
  const response = await send(target, body);
  const text = await readTextOf(response).catch((error: unknown) => {
    throw brokeOff(error, target);
  });
  return parse(text, "the router's answer");
}

/** A connection that was lost under an answer, in words. What has its words already stays, and so does what was called off. */
function brokeOff(error: unknown, { signal }: Pick<ChatTarget, "signal">): unknown {
  if (error instanceof LlmgwError || signal.aborted) return error;
  const message = `The answer broke off before its end: ${messageOf(error)}.`;
  return new LlmgwError("ENGINE_BROKE_OFF", message, { cause: error });
}

/** The words of the answer as they come. Throws when the stream ends without having said that it is complete. */
export async function* chatStream(target: ChatTarget, body: ChatBody): AsyncGenerator<string, undefined> {
  for await (const piece of chatPieces(target, body)) {
    if (piece.kind === "text") yield piece.text;
  }
  return undefined;
}

/** What a stream is made of. */
export type ChatPiece =
  | { readonly kind: "text" | "thought"; readonly text: string }
  | { readonly kind: "usage"; readonly prompt: number; readonly completion: number };

/** Everything of the answer as it comes. Throws as {@link chatStream} does. */
export async function* chatPieces(target: ChatTarget, body: ChatBody): AsyncGenerator<ChatPiece, undefined> {
  const response = await send(target, { ...body, stream: true });
  try {
    for await (const data of sseData(response)) {
      if (data === "[DONE]") return undefined;
      yield* piecesIn(parse(data, "a piece of the stream"));
    }
  } catch (error) {
    throw brokeOff(error, target);
  }
  throw new LlmgwError("ENGINE_BROKE_OFF", "The answer broke off before its end.");
}

function piecesIn(chunk: unknown): readonly ChatPiece[] {
  const fault = readEngineFault(chunk);
  if (fault !== undefined) throw new LlmgwError("ENGINE_BROKE_OFF", fault.message || "The stream broke off.");
  const { reasoning = "", text = "", usage } = readChatPiece(chunk) ?? {};
  const counts: readonly ChatPiece[] =
    usage === undefined ? [] : [{ kind: "usage", prompt: usage.prompt, completion: usage.completion }];
  return [...textIn("thought", reasoning), ...textIn("text", text), ...counts];
}

const textIn = (kind: "text" | "thought", text: string): readonly ChatPiece[] => (text === "" ? [] : [{ kind, text }]);

function send({ routerUrl, ca, signal, key }: ChatTarget, body: ChatBody): Promise<IncomingMessage> {
  const url = new URL(`${routerUrl.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1/chat/completions`);
  const isSecure = url.protocol === "https:";
  const text = JSON.stringify(body);
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  return new Promise((resolve, reject) => {
    const options = { method: "POST", headers, signal, ...(isSecure && ca !== undefined ? { ca } : {}) };
    const request = (isSecure ? requestHttps : requestHttp)(url, options, (response) => {
      if (response.statusCode === 200) resolve(response);
      else refusal(response).then(reject, reject);
    });
    request.on("error", (error) => {
      if (signal.aborted) reject(error);
      else reject(new LlmgwError("UNREACHABLE", `The router at ${url.origin} cannot be reached: ${messageOf(error)}`));
    });
    request.end(text);
  });
}

/** What each status means for a person who asked for a chat; `code` of the body is for programs. */
const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "BAD_REQUEST",
  401: "UNAUTHENTICATED",
  403: "FORBIDDEN",
  404: "MODEL_NOT_FOUND",
  429: "RATE_LIMITED",
  502: "ENGINE_BROKE_OFF",
  503: "MODEL_NOT_READY",
  504: "ENGINE_TIMEOUT",
};

async function refusal(response: IncomingMessage): Promise<LlmgwError> {
  const status = response.statusCode ?? 0;
  const text = await readTextOf(response);
  // What is not from the router itself, such as a proxy's page, is shown as it is.
  const said =
    readEngineFault(parseJson(text))?.message || `the router answered ${String(status)}: ${text.slice(0, 300)}`;
  const hint =
    status === 401 ? " Give a key with --key-file or LLMGW_API_KEY; `llmgw ctl keys create NAME` makes one." : "";
  return new LlmgwError(BY_STATUS[status] ?? "FAILED", `${said}${hint}`);
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new LlmgwError("ENGINE_BROKE_OFF", `${what} is no JSON: ${text.slice(0, 200)}`, { cause: error });
  }
}
