import { messageOf } from "../../../core/errors.ts";
import { listen, type Listening, type TlsMaterial, type WebHandler } from "../../../platform/listen.ts";
import type { Logger } from "../../../platform/logger.ts";

export interface PeerAddress {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

interface PortOptions {
  readonly handler: WebHandler;
  readonly logger: Logger;
  /** Where it is open now; port 0: nowhere. */
  readonly onOpen: (open: { readonly port: number; readonly tls: boolean }) => void;
}

interface Wanted {
  readonly address: PeerAddress;
  readonly tls: TlsMaterial | undefined;
}

/** The port that other nodes fetch from. It follows the node's address and its certificate. */
export class PeerPort {
  readonly #options: PortOptions;
  #open: { readonly wanted: Wanted; readonly listening: Listening } | undefined;
  #refused = "";
  /** One change after the other. */
  #tail: Promise<void> = Promise.resolve();

  constructor(options: PortOptions) {
    this.#options = options;
  }

  /** Undefined: closed. An address that cannot be had is said, and the node goes on without. */
  use(wanted: Wanted | undefined): void {
    this.#tail = this.#tail.then(() => this.#change(wanted));
  }

  async close(): Promise<void> {
    this.use(undefined);
    await this.#tail;
  }

  async #change(wanted: Wanted | undefined): Promise<void> {
    const open = this.#open;
    if (open !== undefined && wanted !== undefined && isSamePlace(open.wanted, wanted)) {
      if (wanted.tls !== undefined && wanted.tls.cert !== open.wanted.tls?.cert) open.listening.renewTls(wanted.tls);
      this.#open = { ...open, wanted };
      return;
    }
    this.#open = undefined;
    await open?.listening.close();
    if (wanted === undefined) {
      if (open !== undefined) this.#options.onOpen({ port: 0, tls: false });
      return;
    }
    await this.#start(wanted);
  }

  async #start(wanted: Wanted): Promise<void> {
    const { handler, logger, onOpen } = this.#options;
    const { address, tls } = wanted;
    try {
      const listening = await listen({ ...address, tls, handler });
      this.#open = { wanted, listening };
      this.#refused = "";
      logger.info({ port: listening.port, tls: tls !== undefined }, "other nodes can fetch weights from this one");
      onOpen({ port: listening.port, tls: tls !== undefined });
    } catch (error) {
      const why = `peer_listen: ${address.host} port ${String(address.port)} cannot be had: ${messageOf(error)}; other nodes cannot fetch weights from this one`;
      if (why !== this.#refused) logger.error(why);
      this.#refused = why;
      onOpen({ port: 0, tls: false });
    }
  }
}

const isSamePlace = (a: Wanted, b: Wanted): boolean =>
  a.address.host === b.address.host &&
  a.address.port === b.address.port &&
  (a.tls === undefined) === (b.tls === undefined);
