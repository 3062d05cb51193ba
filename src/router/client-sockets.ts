import type { Duplex } from "node:stream";
import type { ClientSocket } from "./client/http-exchange.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Which exchanges a client's connection carries. The socket's own close is the one sign that a client has left: a
 * request's events are over once its body was read, and an answer that waits behind another hears of nothing.
 */
export class ClientSockets {
  readonly #carried = new Map<Duplex, Exchange[]>();

  add(socket: ClientSocket, exchange: Exchange): void {
    const carried = this.#carried.get(socket);
    if (carried !== undefined) {
      carried.push(exchange);
      return;
    }
    const first = [exchange];
    this.#carried.set(socket, first);
    socket.once("close", () => {
      this.#carried.delete(socket);
      for (const left of [...first]) left.onClientGone();
    });
  }

  /** In the order in which they came. */
  on(socket: Duplex): readonly Exchange[] {
    return [...(this.#carried.get(socket) ?? [])];
  }

  delete(socket: ClientSocket, exchange: Exchange): void {
    const carried = this.#carried.get(socket);
    const at = carried?.indexOf(exchange) ?? -1;
    if (at !== -1) carried?.splice(at, 1);
  }
}
