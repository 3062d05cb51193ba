import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";

/** One request, as far as it has come. */
export class ReadRequest {
  readonly headers: IncomingHttpHeaders;
  readonly res: ServerResponse;
  readonly #req: IncomingMessage;
  readonly #hash = createHash("sha256");
  #kept: Buffer[] = [];
  received = 0;
  /** How the request ended: whole, or cut off. */
  end: "none" | "whole" | "cut" = "none";

  constructor(req: IncomingMessage, res: ServerResponse, keeps: boolean) {
    this.headers = req.headers;
    this.res = res;
    this.#req = req;
    req.on("data", (chunk: Buffer) => {
      this.received += chunk.length;
      this.#hash.update(chunk);
      if (keeps) this.#kept.push(chunk);
    });
    req.on("end", () => {
      this.end = "whole";
    });
    req.on("error", () => undefined);
    req.on("close", () => {
      if (this.end === "none") this.end = "cut";
    });
  }

  /** Of a request that is whole. */
  get sha256(): string {
    return this.#hash.copy().digest("hex");
  }

  get text(): string {
    return Buffer.concat(this.#kept).toString("utf8");
  }

  pause(): void {
    this.#req.pause();
  }

  resume(): void {
    this.#req.resume();
  }

  answer(status: number, body: string): void {
    this.res.writeHead(status, { "content-type": "application/json" });
    this.res.end(body);
  }
}

/** An engine that reads bodies as they come, and shows how far it is. */
export class ReadingEngine {
  readonly port: number;
  readonly requests: ReadRequest[] = [];
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** `onRequest` sees each request with its head; without it each is answered when it is whole. */
  static async start(onRequest?: (request: ReadRequest) => void, { keeps = true } = {}): Promise<ReadingEngine> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address !== "object") throw new Error("no address");
    const engine = new ReadingEngine(server, address.port);
    server.on("request", (req, res) => {
      const request = new ReadRequest(req, res, keeps);
      engine.requests.push(request);
      if (onRequest !== undefined) onRequest(request);
      else {
        req.on("end", () => {
          request.answer(200, '{"ok":true}');
        });
      }
    });
    return engine;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
