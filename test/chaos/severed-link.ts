import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A network between two processes that can fail: everything that is sent to its port goes on to the target, while it is whole. */
export class SeveredLink {
  readonly port: number;
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #sockets = new Set<Socket>();
  #state: "whole" | "cut" | "frozen" = "whole";

  private constructor(server: Server, port: number, targetPort: number) {
    this.#server = server;
    this.port = port;
    this.#targetPort = targetPort;
    server.on("connection", (socket) => {
      this.#join(socket);
    });
  }

  static async to(targetPort: number): Promise<SeveredLink> {
    const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    return new SeveredLink(server, port, targetPort);
  }

  /** Connections break and new ones break at once. */
  cut(): void {
    this.#state = "cut";
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Connections stay open and nothing gets through: what a pulled cable or a lost route looks like from both ends. */
  freeze(): void {
    this.#state = "frozen";
    for (const socket of this.#sockets) socket.pause();
  }

  heal(): void {
    this.#state = "whole";
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(near: Socket): void {
    if (this.#state === "cut") {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ host: "127.0.0.1", port: this.#targetPort });
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on("data", (data: Buffer) => into.write(data));
      from.on("error", () => into.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        into.destroy();
      });
      if (this.#state === "frozen") from.pause();
      else from.resume();
    }
  }
}
