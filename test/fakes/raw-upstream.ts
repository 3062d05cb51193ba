import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

export interface ReceivedRequest {
  /** Everything before the empty line, as it came. */
  readonly head: string;
  readonly body: Buffer;
}

/** One connection of the router to the scripted engine. */
export class UpstreamConnection {
  readonly socket: Socket;
  /** Resolves when the router's side is gone, however it went. */
  readonly closed: Promise<void>;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** What must have come before it is worth looking again. */
  #wanted = 1;
  #wake: (() => void) | undefined;
  #isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#pieces.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes >= this.#wanted) this.#wake?.();
    });
    // A reset by the router is one of the things that tests look for.
    socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#isClosed = true;
        this.#wake?.();
        resolve();
      });
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The next whole request; undefined when the connection ends before one. */
  async request(): Promise<ReceivedRequest | undefined> {
    for (;;) {
      const request = this.#takeRequest();
      if (request !== undefined) return request;
      if (this.#isClosed) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #takeRequest(): ReceivedRequest | undefined {
    if (this.#bytes < this.#wanted) return undefined;
    const received = Buffer.concat(this.#pieces);
    const end = received.indexOf("\r\n\r\n");
    const head = received.toString("latin1", 0, Math.max(0, end));
    const length = Number(/^content-length: *(\d+)$/im.exec(head)?.[1] ?? 0);
    const from = end + 4;
    this.#wanted = end === -1 ? received.length + 1 : from + length;
    this.#pieces = [received];
    if (received.length < this.#wanted) return undefined;
    const rest = received.subarray(this.#wanted);
    const body = Buffer.from(received.subarray(from, this.#wanted));
    this.#pieces = [rest];
    this.#bytes = rest.length;
    this.#wanted = 1;
    return { head, body };
  }

  /** Resolves when the bytes were handed to the system, so that two writes are two pieces on the wire. */
  write(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.socket.write(bytes, () => {
        resolve();
      });
    });
  }

  end(bytes = ""): void {
    this.socket.end(bytes);
  }

  /** As a killed process does: RST, not FIN. */
  reset(): void {
    this.socket.resetAndDestroy();
  }
}

/** What the engine does with a connection, from its first byte on. */
export type Script = (connection: UpstreamConnection, upstream: RawUpstream) => Promise<void> | void;

type RequestScript = (connection: UpstreamConnection, request: ReceivedRequest, index: number) => Promise<void> | void;

/** The bytes of an answer, which may depend on what was asked. */
export type Answering = string | Buffer | ((request: ReceivedRequest) => string | Buffer);

/** An engine that says exactly the bytes of its script. */
export class RawUpstream {
  readonly port: number;
  readonly connections: UpstreamConnection[] = [];
  readonly requests: ReceivedRequest[] = [];
  script: Script;
  readonly #server: Server;

  private constructor(server: Server, port: number, { script, event }: { script: Script; event: string }) {
    this.#server = server;
    this.port = port;
    this.script = script;
    server.on(event, (socket: Socket) => {
      const connection = new UpstreamConnection(socket);
      this.connections.push(connection);
      void this.script(connection, this);
    });
  }

  /** On a free port unless one is named. */
  static async start(script: Script, port = 0): Promise<RawUpstream> {
    const server = createServer({ noDelay: true });
    return new RawUpstream(server, await portOf(server, port), { script, event: "connection" });
  }

  /** Over TLS. PEM texts. */
  static async secure(script: Script, tls: { readonly cert: string; readonly key: string }): Promise<RawUpstream> {
    const server = createTlsServer(tls);
    server.on("tlsClientError", () => undefined);
    return new RawUpstream(server, await portOf(server, 0), { script, event: "secureConnection" });
  }

  /** Answers every request of every connection with the same bytes. */
  static answering(bytes: Answering, port = 0): Promise<RawUpstream> {
    return RawUpstream.start(saying(bytes), port);
  }

  /** The script runs once for each request, with that request. */
  static onRequest(script: RequestScript): Promise<RawUpstream> {
    return RawUpstream.start(each(script));
  }

  /** Begins a stream of chat for each request, and ends it when `finish` is called: at once if that was before. */
  static async holding(): Promise<{ readonly engine: RawUpstream; readonly finish: () => void }> {
    const told = Promise.withResolvers<undefined>();
    const engine = await RawUpstream.onRequest(async (connection) => {
      await connection.write(STREAM_HEAD);
      await connection.write(chunk('data: {"choices":[{"delta":{"content":"a"}}]}\n\n'));
      await told.promise;
      await connection.write(chunk("data: [DONE]\n\n"));
      await connection.write(LAST_CHUNK);
    });
    return {
      engine,
      finish: () => {
        told.resolve(undefined);
      },
    };
  }

  /** Cuts every connection, as when the engine's process is killed. */
  reset(): void {
    for (const connection of this.connections) connection.reset();
  }

  get openConnections(): number {
    return this.connections.filter((connection) => !connection.isClosed).length;
  }

  async stop(): Promise<void> {
    for (const connection of this.connections) connection.socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }
}

async function portOf(server: Server, port: number): Promise<number> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address !== "object") throw new Error("no address");
  return address.port;
}

/** Answers every request with the same bytes. */
export const saying = (bytes: Answering): Script =>
  each((connection, request) => connection.write(typeof bytes === "function" ? bytes(request) : bytes));

/** Runs the script for one request of a connection after the other. */
const each =
  (script: RequestScript): Script =>
  async (connection, upstream) => {
    for (let request = await connection.request(); request !== undefined; request = await connection.request()) {
      upstream.requests.push(request);
      await script(connection, request, upstream.requests.length - 1);
    }
  };

export const json = (body: string, extra = ""): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${String(Buffer.byteLength(body))}\r\n${extra}\r\n${body}`;

export const STREAM_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

export const chunk = (bytes: string | Buffer): Buffer => {
  const payload = Buffer.from(bytes);
  return Buffer.concat([Buffer.from(`${payload.length.toString(16)}\r\n`), payload, Buffer.from("\r\n")]);
};

export const LAST_CHUNK = "0\r\n\r\n";
