import { Code, ConnectError, type ConnectRouter, createConnectRouter, createContextValues } from "@connectrpc/connect";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { ORIGIN, type Origin, PEER, type Peer } from "../control/peer.ts";
import type { WebHandler, WebRequest } from "../platform/listen.ts";
import type { Logger } from "../platform/logger.ts";
import { peerCertificates } from "../platform/peer-certificate.ts";

/** One message of a stream or a call. Agents cut their reports to less; a manifest of this size would be a mistake. */
const READ_MAX_BYTES = 32 * 1024 * 1024;

interface RpcOptions {
  readonly routes: (router: ConnectRouter) => void;
  /** Aborted when the server stops: streams end. */
  readonly shutdown: AbortSignal;
  readonly logger: Logger;
  /** For every path that is no call. */
  readonly otherwise: WebHandler;
}

/** Serves calls in the Connect, gRPC and gRPC-web protocols, and hands everything else on. */
export function rpcHandler({ routes, shutdown, logger, otherwise }: RpcOptions): WebHandler {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip],
    readMaxBytes: READ_MAX_BYTES,
    shutdownSignal: shutdown,
  });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    const handler = handlers.get(pathOf(request));
    if (handler === undefined || !hasHost(request)) {
      otherwise(request, response);
      return;
    }
    const refusal = refusalOf(request, handler);
    if (refusal !== undefined) {
      refuse(response, refusal);
      return;
    }
    const contextValues = createContextValues().set(PEER, peerOf(request)).set(ORIGIN, originOf(request));
    handler(universalRequestFromNodeRequest(request, response, undefined, contextValues))
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((error: unknown) => {
        // The other end is gone, or never was in order: its own log says more.
        if (ConnectError.from(error).code !== Code.Aborted) {
          logger.debug({ err: error, method: handler.method.name }, "a call ended without its answer being read");
        }
        response.destroy();
      });
  };
}

interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The library answers these without a word, and curl sends a form where it is not told otherwise. */
function refusalOf(request: WebRequest, handler: UniversalHandler): Refusal | undefined {
  const { method = "", headers } = request;
  const name = handler.method.name;
  if (!handler.allowedMethods.includes(method)) {
    const allowed = handler.allowedMethods.join(", ");
    return { status: 405, message: `${name} takes ${allowed}, and this is ${method}`, headers: { allow: allowed } };
  }
  const type = headers["content-type"] ?? "";
  if (method !== "POST" || handler.supportedContentType(type)) return undefined;
  const shown = type === "" ? "none was sent" : `it is ${type}`;
  const isStream = handler.method.methodKind !== "unary";
  const wanted = isStream ? "application/connect+json" : "application/json";
  const message = `${name} wants the header content-type: ${wanted}, and ${shown}; with curl: -H 'content-type: ${wanted}'`;
  return { status: 415, message, headers: { "accept-post": wanted } };
}

/** As calls say their errors, in JSON. */
function refuse(response: Parameters<WebHandler>[1], { status, message, headers }: Refusal): void {
  const text = `${JSON.stringify({ code: "invalid_argument", message })}\n`;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("content-type", "application/json");
  response.setHeader("content-length", Buffer.byteLength(text));
  response.end(text);
}

export const pathOf = (request: WebRequest): string => (request.url ?? "").split("?", 1)[0] ?? "";

/** HTTP/1.0 clients may leave it out; the library cannot do without. */
const hasHost = (request: WebRequest): boolean => "authority" in request || request.headers.host !== undefined;

const originOf = ({ socket, headers }: WebRequest): Origin => ({
  // An address that the system does not know any more is nobody's: it must not pass for a caller in this process.
  address: socket.remoteAddress ?? "unknown",
  isForwarded: headers["x-forwarded-for"] !== undefined || headers.forwarded !== undefined,
});

function peerOf(request: WebRequest): Peer {
  const shown = peerCertificates(request);
  return shown === undefined ? { kind: "plain" } : { kind: "tls", ...shown };
}
