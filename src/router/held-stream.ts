import { ERRORS } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import { readEngineFault } from "../wire/engine-error.ts";
import { parseJson } from "../wire/json-value.ts";
import { responsesErrorEvent } from "../wire/responses/error.ts";
import type { ExchangeRequest } from "./context.ts";
import { errorEvent, type Refusal } from "./error-body.ts";
import { KEEP_ALIVE } from "./keep-alive.ts";
import { OF_EVENT_STREAMS } from "./relay-headers.ts";
import type { EngineAnswer } from "./translate/ask.ts";
import { type Asker, unusable } from "./translate/errors.ts";

/**
 * A stream that is held until the first replica has started. A short wait sends nothing, so that it can still end with a
 * status of its own; a long one is begun with a status of 200 and comments, because proxies and clients take silence for
 * death. What goes wrong from then on is an event.
 */
export class HeldStream {
  readonly #request: ExchangeRequest;
  readonly #every: Millis;
  readonly #headers: () => readonly string[];
  #sentAt: Millis;

  /** `headers`: what every answer carries. `every`: the silence after which a comment is due. */
  constructor(request: ExchangeRequest, headers: () => readonly string[], begun: { at: Millis; every: Millis }) {
    this.#request = request;
    this.#headers = headers;
    this.#every = begun.every;
    this.#sentAt = begun.at;
  }

  onTick(now: Millis): void {
    const { res, requestId, shape } = this.#request;
    if (now - this.#sentAt < this.#every || res.writableNeedDrain) return;
    this.#sentAt = now;
    if (!res.headersSent) {
      const type = ["content-type", "text/event-stream; charset=utf-8", ...OF_EVENT_STREAMS];
      res.writeHead(200, [...type, "x-request-id", requestId, ...this.#headers()]);
    }
    res.write(KEEP_ALIVE[shape]);
  }

  /** It will get no answer. Only where it has begun. */
  fail(refusal: Refusal): void {
    const { res, shape, requestId } = this.#request;
    res.end(errorEvent(shape, refusal, requestId));
  }
}

/** An engine's answer that is no stream, as the last event of a stream that has begun. */
export function lateAnswer(asker: Asker, answer: EngineAnswer): string {
  const value = parseJson(answer.body);
  const fault = readEngineFault(value);
  if (answer.status < 400 || fault === undefined) {
    const rewritten = unusable(asker, "it is no stream");
    return rewritten.kind === "answer" ? asEvent(asker, rewritten.body) : "";
  }
  return asEvent(asker, JSON.stringify(value));
}

function asEvent({ shape }: Asker, body: string): string {
  if (shape === "openai") return `data: ${body}\n\n`;
  if (shape === "anthropic") return `event: error\ndata: ${body}\n\n`;
  const fault = readEngineFault(parseJson(body));
  const { type, code } = ERRORS.ENGINE_BROKE_OFF;
  const { message, ...said } = fault ?? { message: "", type, code };
  return responsesErrorEvent({ message, type: said.type || type, code: said.code ?? code }, 0);
}
