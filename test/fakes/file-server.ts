import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a request asked for, as the server saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface FileServer {
  readonly origin: string;
  readonly requests: readonly SeenRequest[];
  close(): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse, number: number) => void;

/** A real HTTP server on a free port; `number` counts the requests from 1, so that an answer can differ from the one before. */
export async function startFileServer(handler: Handler): Promise<FileServer> {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers });
    handler(request, response, requests.length);
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${String(port)}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

const listen = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });

export interface Content {
  readonly bytes: Buffer;
  readonly etag?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers as a file host does: whole, or the asked range (206, 416), and the whole again when If-Range no longer holds. */
export function serveContent(request: IncomingMessage, response: ServerResponse, content: Content): void {
  response.end(beginContent(request, response, content));
}

/** Sets the status and the headers of that answer. Answers with the bytes that belong in it; undefined: none. */
export function beginContent(request: IncomingMessage, response: ServerResponse, content: Content): Buffer | undefined {
  const asked = askedRange(request, content);
  const total = content.bytes.length;
  describe(response, content);
  if (asked !== undefined && asked.start >= total) {
    response.statusCode = 416;
    response.setHeader("content-range", `bytes */${String(total)}`);
    return undefined;
  }
  const { start, end } = asked ?? { start: 0, end: total };
  if (asked !== undefined) {
    response.statusCode = 206;
    response.setHeader("content-range", `bytes ${String(start)}-${String(end - 1)}/${String(total)}`);
  }
  response.setHeader("content-length", String(end - start));
  return request.method === "HEAD" ? undefined : content.bytes.subarray(start, end);
}

function describe(response: ServerResponse, content: Content): void {
  response.setHeader("accept-ranges", "bytes");
  response.setHeader("content-type", content.type ?? "application/octet-stream");
  if (content.etag !== undefined) response.setHeader("etag", content.etag);
  for (const [name, value] of Object.entries(content.headers ?? {})) response.setHeader(name, value);
}

function askedRange(
  request: IncomingMessage,
  content: Pick<Content, "bytes" | "etag">,
): { readonly start: number; readonly end: number } | undefined {
  const ifRange = request.headers["if-range"];
  if (ifRange !== undefined && ifRange !== content.etag) return undefined;
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  if (first === undefined) return undefined;
  const end =
    last === undefined || last === "" ? content.bytes.length : Math.min(content.bytes.length, Number(last) + 1);
  return { start: Number(first), end };
}
