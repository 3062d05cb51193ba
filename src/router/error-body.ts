import { type ErrorCode, ERRORS } from "../core/errors.ts";
import { anthropicErrorBody } from "../wire/anthropic/error.ts";
import { responsesErrorEvent } from "../wire/responses/error.ts";

/** Whose error objects a path's clients read. Responses differ from the rest of OpenAI only in the events of a stream. */
export type ErrorShape = "openai" | "responses" | "anthropic";

export interface Refusal {
  readonly code: ErrorCode;
  /** For people: what happened and what to do. */
  readonly message: string;
  /** The field of the request that is at fault. */
  readonly param?: string;
}

export function errorBody(shape: ErrorShape, refusal: Refusal, requestId: string): string {
  const { type, code, http } = ERRORS[refusal.code];
  if (shape === "anthropic") return anthropicErrorBody({ status: http, message: refusal.message }, requestId);
  return JSON.stringify({ error: { message: refusal.message, type, param: refusal.param ?? null, code } });
}

/** The same as the last event of a stream that broke. */
export function errorEvent(shape: ErrorShape, refusal: Refusal, requestId: string): string {
  const body = errorBody(shape, refusal, requestId);
  switch (shape) {
    case "openai":
      return `data: ${body}\n\n`;
    case "anthropic":
      // Anthropic's clients drop events without a name that they know.
      return `event: error\ndata: ${body}\n\n`;
    case "responses": {
      const { type, code } = ERRORS[refusal.code];
      // How far the engine had counted its events is not known here.
      return responsesErrorEvent({ message: refusal.message, type, code }, 0);
    }
  }
}
