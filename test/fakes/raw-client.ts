import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { until } from "../e2e/wait.ts";

/** A client that sends exactly the bytes it is told, and keeps all that comes back. */
export class RawClient {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  isClosed = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.isClosed = true;
    });
  }

  static async connect(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, "connect");
    return new RawClient(socket);
  }

  send(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  get text(): string {
    return this.#received.toString("latin1");
  }

  get bytes(): Buffer {
    return this.#received;
  }

  async waitFor(text: string): Promise<string> {
    await until(JSON.stringify(text), () => this.text.includes(text), {
      timeoutMs: 10_000,
      seen: () => this.text.slice(-2_000),
    });
    return this.text;
  }

  async waitForClose(): Promise<string> {
    await until("the connection's end", () => this.isClosed, {
      timeoutMs: 10_000,
      seen: () => this.text.slice(-2_000),
    });
    return this.text;
  }

  close(): void {
    this.socket.destroy();
  }
}

/** A POST as plain bytes. */
export function post(body: string | Buffer, headers = "", path = "/v1/chat/completions"): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${String(Buffer.byteLength(body))}\r\n${headers}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]);
}
