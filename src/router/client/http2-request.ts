import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Refusal } from "../error-body.ts";
import { HEADERS_TOO_LARGE } from "../refusals.ts";
import { Http2Answer } from "./http2-answer.ts";
import type { HttpExchange } from "./http-exchange.ts";

export interface Http2Head {
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, pseudo-headers too. */
  readonly raw: readonly string[];
}

/** What may stand in the first line of a request to an engine. */
const SANE_TARGET = /^[!-~\u0080-\u00ff]+$/;
/** Of one request, so that a head of nothing but names is not a way to make work. */
export const MOST_HEADERS = 2_000;
/** A header's colon, space and line end, so that one limit means the same in both versions. */
const BYTES_BETWEEN = 4;

/** A stream of HTTP/2 as the rest of the router sees requests. */
export function exchangeOfStream(stream: ServerHttp2Stream, { headers, raw }: Http2Head): HttpExchange {
  const req = {
    method: headers[":method"] ?? "",
    url: headers[":path"] ?? "",
    headers,
    rawHeaders: withoutPseudo(raw),
    get complete(): boolean {
      // What is reset ends too.
      return !stream.aborted && (stream.endAfterHeaders || stream.readableEnded);
    },
  };
  const waitsForContinue = headers.expect?.toLowerCase() === "100-continue";
  return { req, body: stream, res: new Http2Answer(stream), socket: undefined, waitsForContinue };
}

/** Pseudo-headers come before all others. */
function withoutPseudo(raw: readonly string[]): string[] {
  let from = 0;
  while (raw[from]?.startsWith(":") === true) from += 2;
  return raw.slice(from);
}

/** Why a request is refused by its head alone; undefined: it is not. */
export function headRefusal({ headers, raw }: Http2Head, limit: number): Refusal | undefined {
  const bytes = raw.reduce((sum, text) => sum + text.length, (raw.length / 2) * BYTES_BETWEEN);
  if (bytes > limit || raw.length / 2 > MOST_HEADERS) return HEADERS_TOO_LARGE;
  if (SANE_TARGET.test(headers[":path"] ?? "/")) return undefined;
  return { code: "BAD_REQUEST", message: "The request's path holds a space or a control character." };
}
