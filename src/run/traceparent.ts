import { type Context, isSpanContextValid, ROOT_CONTEXT, type SpanContext, trace } from "@opentelemetry/api";
import type { ClientHeaders } from "../router/client/client-headers.ts";

/** W3C Trace Context, level 1: version, trace, parent, flags. Only a later version may say more behind them. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The trace that a client says its request belongs to; what is malformed is as if it were not there. */
export function parentOf({ traceparent }: ClientHeaders): Context {
  const given = typeof traceparent === "string" ? traceparent.trim() : "";
  const found = TRACEPARENT.exec(given);
  if (found === null || (given.startsWith("00-") && found[4] !== undefined)) return ROOT_CONTEXT;
  const [, traceId = "", spanId = "", flags = ""] = found;
  const parent: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
}

export const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, "0")}`;
