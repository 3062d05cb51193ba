import {
  createServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import type { Millis } from "../../core/ids.ts";
import type { Clock } from "../../platform/clock.ts";
import type { RouterLimits } from "../limits.ts";
import type { Timed } from "../sweep.ts";
import { type Http2Head, MOST_HEADERS } from "./http2-request.ts";

/** Requests that one connection may have in flight: more than any client has, and a bound to what it can hold. */
const MOST_STREAMS = 1_000;
/** Of a body on its way, by stream and by connection: at 20 ms of distance 12 and 50 MB/s. */
const STREAM_WINDOW = 256 * 1024;
const CONNECTION_WINDOW = 1024 * 1024;
/** Heads are read to this multiple of the limit, so that what is over it can be told so; beyond it the stream is reset. */
const HEAD_SLACK = 4;
/** Of what waits to be sent on one connection, in MB. */
const SESSION_MEMORY = 64;

interface Of {
  readonly clock: Clock;
  readonly limits: Pick<RouterLimits, "headerBytes" | "headTime" | "clientIdle">;
  onStream(stream: ServerHttp2Stream, head: Http2Head): void;
  /** A connection that does not speak HTTP/2 as it should, or was reset. */
  onTrouble(error: NodeJS.ErrnoException): void;
}

/** What a connection does when nothing is asked on it. */
interface Use {
  streams: number;
  /** When the last request ended, or the connection began. */
  idleSince: Millis;
  hasAsked: boolean;
  isClosing: boolean;
}

/** The connections that speak HTTP/2: their sockets are accepted elsewhere, and come by `take`. */
export class Http2Sessions implements Timed {
  readonly #of: Of;
  readonly #server: Http2Server;
  readonly #uses = new Map<Http2Session, Use>();
  #isDraining = false;

  constructor(of: Of) {
    this.#of = of;
    this.#server = createServer({
      settings: {
        maxConcurrentStreams: MOST_STREAMS,
        initialWindowSize: STREAM_WINDOW,
        maxHeaderListSize: of.limits.headerBytes * HEAD_SLACK,
        enablePush: false,
      },
      maxHeaderListPairs: MOST_HEADERS * HEAD_SLACK,
      maxSessionMemory: SESSION_MEMORY,
      // An engine that names something twice is no reason to give its client nothing.
      strictSingleValueFields: false,
    });
    this.#server.on("session", this.#add.bind(this));
    this.#server.on("sessionError", of.onTrouble.bind(of));
    this.#server.on("stream", this.#onStream.bind(this));
  }

  /** A connection whose client wants HTTP/2. */
  take(socket: Duplex): void {
    // A server of HTTP/1.1 accepts connections so that they outlive their client's end; here that end is the end of all.
    socket.allowHalfOpen = false;
    this.#server.emit("connection", socket);
  }

  #add(session: Http2Session): void {
    const idleSince = this.#of.clock.monotonic();
    session.setLocalWindowSize(CONNECTION_WINDOW);
    this.#uses.set(session, { streams: 0, idleSince, hasAsked: false, isClosing: false });
    session.once("close", () => this.#uses.delete(session));
    if (this.#isDraining) session.close();
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...[, raw]: [number, readonly string[]]): void {
    // That it was reset is told by its close.
    stream.on("error", () => undefined);
    const use = stream.session === undefined ? undefined : this.#uses.get(stream.session);
    if (use === undefined) return;
    use.streams += 1;
    use.hasAsked = true;
    stream.once("close", () => {
      use.streams -= 1;
      use.idleSince = this.#of.clock.monotonic();
    });
    this.#of.onStream(stream, { headers, raw });
  }

  /** Whoever has nothing in flight is not kept for ever, whatever else it sends: pings, or a head byte by byte. */
  onTick(now: Millis): void {
    const { headTime, clientIdle } = this.#of.limits;
    for (const [session, use] of this.#uses) {
      if (use.streams > 0 || now - use.idleSince < (use.hasAsked ? clientIdle : headTime)) continue;
      // One that was asked to go and is still here does not read.
      if (use.isClosing) session.destroy();
      else session.close();
      use.isClosing = true;
    }
  }

  /** Lets requests in flight end and takes no more (GOAWAY). */
  drain(): void {
    this.#isDraining = true;
    for (const session of this.#uses.keys()) session.close();
  }

  destroy(): void {
    for (const session of [...this.#uses.keys()]) session.destroy();
  }
}
