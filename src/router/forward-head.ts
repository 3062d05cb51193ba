import type { ReplicaRoute } from "../core/route.ts";
import { hostOf } from "./upstreams/endpoint.ts";

/**
 * What a client's request keeps to itself. Everything else goes on: clients and engines agree on headers that no list of
 * ours would know.
 */
const KEPT_BACK: ReadonlySet<string> = new Set([
  // Of the connection, not of the request.
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
  // Written anew for the engine.
  "host",
  "content-length",
  "content-encoding",
  "x-request-id",
  // The client's secrets.
  "authorization",
  "x-api-key",
  "api-key",
  "cookie",
  // A compressed answer could neither be counted nor passed on event by event.
  "accept-encoding",
  // With it llama-server goes on generating after the client has left.
  "x-conversation-id",
  // Browsers talk to the router; an engine's own CORS answers would contradict it.
  "origin",
  "referer",
  "access-control-request-method",
  "access-control-request-headers",
  // For routers, which read it before an engine is asked.
  "x-llmgw-via",
]);

/** The client's header lines that an engine gets, as they came; without its traceparent where the router writes its own. */
export function forwardedHeaders(rawHeaders: readonly string[], isTraced = false): string {
  const ofConnection = namedByConnection(rawHeaders);
  const named = isTraced ? [...ofConnection, "traceparent"] : ofConnection;
  let lines = "";
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (isKeptBack(name) || (named.length > 0 && named.includes(name.toLowerCase()))) continue;
    lines += `${name}: ${rawHeaders[index + 1] ?? ""}\r\n`;
  }
  return lines;
}

const MOST_SPELLINGS = 1_024;
const LONGEST_SPELLING = 64;
/** Clients send the same dozen names each time: whether one is kept back is known by how it is written. */
const spellings = new Map<string, boolean>();

function isKeptBack(name: string): boolean {
  const known = spellings.get(name);
  if (known !== undefined) return known;
  const isKept = KEPT_BACK.has(name.toLowerCase());
  if (spellings.size < MOST_SPELLINGS && name.length <= LONGEST_SPELLING) spellings.set(name, isKept);
  return isKept;
}

/** Headers that a Connection header declares to be of the connection. */
function namedByConnection(rawHeaders: readonly string[]): readonly string[] {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length !== 10 || rawHeaders[index]?.toLowerCase() !== "connection") continue;
    const value = (rawHeaders[index + 1] ?? "").toLowerCase();
    if (value !== "keep-alive" && value !== "close") return value.split(",").map((name) => name.trim());
  }
  return [];
}

export interface EngineRequestLine {
  readonly replica: ReplicaRoute;
  /** Path and query, as the client sent them. */
  readonly target: string;
  readonly requestId: string;
  /** Undefined: it goes in chunks. */
  readonly bodyBytes: number | undefined;
  readonly forwarded: string;
  /** Undefined: the request is not traced here. */
  readonly traceparent?: string | undefined;
}

/** The whole head of a request to an engine, as one string. */
export function requestHead(line: EngineRequestLine): string {
  const { replica, target, requestId, bodyBytes, forwarded, traceparent } = line;
  const key = replica.apiKey === "" ? "" : `Authorization: Bearer ${replica.apiKey}\r\n`;
  const traced = traceparent === undefined ? "" : `traceparent: ${traceparent}\r\n`;
  const framing = bodyBytes === undefined ? "Transfer-Encoding: chunked" : `Content-Length: ${String(bodyBytes)}`;
  return (
    `POST ${target} HTTP/1.1\r\nHost: ${hostOf(replica)}\r\n${key}${framing}\r\n` +
    `X-Request-Id: ${requestId}\r\n${traced}${forwarded}\r\n`
  );
}
