import { asAnthropicError, asOpenaiError } from "../../wire/engine-error.ts";
import { ERRORS } from "../../core/errors.ts";
import { errorBody, type ErrorShape } from "../error-body.ts";
import type { EngineAnswer, Rewrite, Rewritten } from "./ask.ts";

/** Whose client asked. */
export interface Asker {
  readonly shape: ErrorShape;
  readonly requestId: string;
}

/** An engine's error in the shape that the client reads; one that is so already stays as it is. */
export function mendError(answer: EngineAnswer, { shape, requestId }: Asker): Rewritten {
  const body = shape === "anthropic" ? asAnthropicError(answer, requestId) : asOpenaiError(answer);
  return body === undefined ? { kind: "same" } : { kind: "answer", status: answer.status, body };
}

export const mendingErrors = (asker: Asker): Extract<Rewrite, { readonly kind: "whole" }> => ({
  kind: "whole",
  read: (answer) => mendError(answer, asker),
});

/** What the engine sent makes no sense. */
export function unusable({ shape, requestId }: Asker, what: string): Rewritten {
  const code = "ENGINE_BROKE_OFF";
  const body = errorBody(shape, { code, message: `The engine's answer is not usable: ${what}.` }, requestId);
  return { kind: "answer", status: ERRORS[code].http, body };
}
