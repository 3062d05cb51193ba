import { type Millis, plus } from "../../core/ids.ts";
import type { TcpAddress } from "../../platform/tcp.ts";
import { type AnswerListener, type ConnectionOwner, EngineConnection, type OutgoingRequest } from "./connection.ts";

interface Idle {
  readonly connection: EngineConnection;
  readonly until: Millis;
}

/**
 * Engines' servers close a connection that was idle for 5 s; using one up to its last moment would meet that close half
 * the time.
 */
export const IDLE_SECONDS = 4;
const MOST_IDLE = 512;

/** The connections to one replica. There is no limit to them: a replica that hangs holds up nobody but its own requests. */
export class EnginePool implements ConnectionOwner {
  readonly #address: TcpAddress;
  readonly #monotonic: () => Millis;
  readonly #idleSeconds: number;
  /** The latest used last: what is not needed grows old at the bottom. */
  readonly #idle: Idle[] = [];
  /** Off for a replica that is no longer listed: requests that run go on to their end, and nothing is kept after them. */
  #keepsIdle = true;

  /** `idleSeconds`: how long a connection is kept that nobody uses, unless the other side says that it keeps it for less. */
  constructor(address: TcpAddress, monotonic: () => Millis, idleSeconds: number) {
    this.#address = address;
    this.#monotonic = monotonic;
    this.#idleSeconds = idleSeconds;
  }

  /** Sends on the most recently used connection that is still good, or a new one. `fresh` asks for a new one. */
  send(request: OutgoingRequest, listener: AnswerListener, fresh: boolean): EngineConnection {
    const kept = fresh ? undefined : this.#takeIdle();
    const connection = kept ?? new EngineConnection(this.#address, this);
    connection.send(request, listener);
    return connection;
  }

  #takeIdle(): EngineConnection | undefined {
    const now = this.#monotonic();
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.until > now) return idle.connection;
      idle.connection.drop();
    }
    return undefined;
  }

  onIdle(connection: EngineConnection, keepAliveSeconds: number | undefined): void {
    const seconds = Math.min(this.#idleSeconds, (keepAliveSeconds ?? Infinity) - 1);
    if (!this.#keepsIdle || seconds <= 0 || this.#idle.length >= MOST_IDLE) {
      connection.drop();
      return;
    }
    this.#idle.push({ connection, until: plus(this.#monotonic(), (seconds * 1000) as Millis) });
  }

  onGone(connection: EngineConnection): void {
    const at = this.#idle.findIndex((idle) => idle.connection === connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  /** Closes what has been idle for too long. */
  prune(now: Millis): void {
    // Dropping one takes it out of the list through onGone.
    for (const idle of this.#idle.filter(({ until }) => until <= now)) idle.connection.drop();
  }

  open(): void {
    this.#keepsIdle = true;
  }

  close(): void {
    this.#keepsIdle = false;
    for (const { connection } of [...this.#idle]) connection.drop();
  }
}
