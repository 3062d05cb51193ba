import { connect, type Socket } from "node:net";
import { connectPinned, KEEP_ALIVE_AFTER } from "./pinned-tls.ts";
import { Outbox } from "./outbox.ts";
import { connectTrusted } from "./trusted-tls.ts";

/** What a connection tells its owner. Nothing comes after `onClose`. */
export interface TcpListener {
  onConnect(): void;
  /** The first `length` bytes of `shared` are the data. They are overwritten by the next read of any connection. */
  onData(shared: Buffer, length: number): void;
  /** The other side will send no more. */
  onEnd(): void;
  /** `code` is the system's, such as ECONNREFUSED; undefined when nothing failed. */
  onClose(code: string | undefined): void;
}

const READ_BYTES = 65_536;

/**
 * All connections read into this one buffer: reads are handled one at a time and to their end, so each finds it free. A
 * buffer for every read would be allocated at 64 KiB and thrown away with 200 bytes in it.
 */
const shared = Buffer.allocUnsafeSlow(READ_BYTES);

/** Where a connection goes. */
export interface TcpAddress {
  readonly host: string;
  readonly port: number;
  /** SHA-256 of the certificate that answers there, in lower-case hex. Left out: it speaks no TLS. */
  readonly tlsSha256?: string;
  /** It speaks TLS and proves its name: PEM of the authorities that it may be of, "" for those that the runtime trusts. */
  readonly tlsCa?: string;
}

/** A TCP connection for a protocol that handles bytes itself: no streams, no events, no buffers of its own. */
export class TcpConnection {
  readonly #socket: Socket;
  readonly #outbox: Outbox;
  #code: string | undefined;
  /** What was sent before it was known who answers; undefined once it is. */
  #held: (() => void)[] | undefined;

  constructor(to: TcpAddress, listener: TcpListener) {
    const onread = {
      buffer: shared,
      callback: (length: number) => {
        listener.onData(shared, length);
        return true;
      },
    };
    const opened = (): void => {
      listener.onConnect();
    };
    const proven = (): void => {
      this.#release();
      opened();
    };
    const { host, port, tlsSha256, tlsCa } = to;
    if (tlsSha256 !== undefined || tlsCa !== undefined) this.#held = [];
    if (tlsSha256 !== undefined) this.#socket = connectPinned({ host, port, tlsSha256 }, { onread }, proven);
    else if (tlsCa !== undefined) this.#socket = connectTrusted({ host, port, ca: tlsCa }, { onread }, proven);
    else {
      this.#socket = connect({
        ...{ host, port, onread },
        ...{ noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_AFTER },
      });
      this.#socket.on("connect", opened);
    }
    this.#outbox = new Outbox(this.#socket);
    this.#socket.on("end", () => {
      listener.onEnd();
    });
    this.#socket.on("error", (error: NodeJS.ErrnoException) => {
      this.#code = error.code ?? error.message;
    });
    this.#socket.on("close", () => {
      listener.onClose(this.#code);
    });
  }

  /** Sends a head of latin-1 text and a body of any number of pieces, in one write when they are small. */
  send(head: string, body: readonly Buffer[]): void {
    if (this.#held === undefined) this.#outbox.send(head, body);
    else {
      this.#held.push(() => {
        this.#outbox.send(head, body);
      });
    }
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const write of held) write();
  }

  /** Sends more of a body. False: nothing more should be sent before it has drained. */
  write(pieces: readonly Buffer[]): boolean {
    this.#outbox.send("", pieces);
    return !this.#outbox.isFull;
  }

  onceDrained(then: () => void): void {
    this.#outbox.onceDrained(then);
  }

  /** Whether everything sent has been handed to the system. */
  get isFlushed(): boolean {
    return this.#held === undefined && this.#outbox.length === 0;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends the connection at once. `onClose` still comes. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** An idle connection need not keep the process alive. */
  unref(): void {
    this.#socket.unref();
  }

  ref(): void {
    this.#socket.ref();
  }
}
