import { connect, type Socket } from "node:net";
import { median, quantile } from "../test/quantile.ts";
import { microsNow } from "./micros.ts";

/** What is asked, how often at once, and for how long. */
export interface Load {
  readonly port: number;
  readonly path: string;
  /** Asked in turn. */
  readonly bodies: readonly string[];
  /** Shown in turn, one a connection. */
  readonly keys: readonly string[];
  /** Header lines that only one contender needs. */
  readonly headers: readonly string[];
  readonly connections: number;
  /** Connections begin no request after it; those that run are waited for. */
  readonly durationMs: number;
}

/** Times in microseconds. */
export interface Measured {
  readonly requests: number;
  readonly failures: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly firstByteP50: number;
  /** Events of streams that came. */
  readonly events: number;
  /** From the engine's write to the client's read. */
  readonly eventP50: number;
  readonly eventP99: number;
}

/** Keeps every connection busy with one request after another, over plain sockets: the generator must cost less than what it measures. */
export async function run(load: Load): Promise<Measured> {
  const tally = new Tally();
  const clients = await openClients(load, tally);
  const startedAt = performance.now();
  const deadline = startedAt + load.durationMs;
  await Promise.all(clients.map((client) => client.askUntil(deadline)));
  return tally.measured((performance.now() - startedAt) / 1000);
}

export interface Held {
  /** Bytes that `memory` grew by from before the first connection to when every stream had begun. */
  readonly grownBytes: number;
  /** Streams that had not ended then. */
  readonly open: number;
  readonly events: number;
  readonly failures: number;
}

/**
 * Opens a stream on every connection, at a pace that nobody minds, and waits for their ends. The next are begun when the last
 * have their heads: were their first events waited for, the first streams would end before the last are open.
 */
export async function hold(load: Load, memory: () => Promise<number>): Promise<Held> {
  const tally = new Tally();
  const before = await memory();
  const clients: Client[] = [];
  const ended: Promise<unknown>[] = [];
  const PER_BATCH = 250;
  for (let from = 0; from < load.connections; from += PER_BATCH) {
    const batch = { ...load, connections: Math.min(PER_BATCH, load.connections - from) };
    const opened = await openClients(batch, tally);
    clients.push(...opened);
    ended.push(...opened.map((client) => client.askUntil(0)));
    await Promise.all(opened.map((client) => client.answered));
  }
  await Promise.all(clients.map((client) => client.begun));
  const grownBytes = (await memory()) - before;
  const open = load.connections - tally.totals.length;
  await Promise.all(ended);
  const { events, failures } = tally.measured(1);
  return { grownBytes, open, events, failures };
}

class Tally {
  readonly totals: number[] = [];
  readonly firsts: number[] = [];
  readonly events: number[] = [];
  failures = 0;

  measured(seconds: number): Measured {
    const { totals, firsts, events, failures } = this;
    return {
      requests: totals.length,
      failures,
      perSecond: totals.length / seconds,
      p50: median(totals),
      p99: quantile(totals, 0.99),
      firstByteP50: median(firsts),
      events: events.length,
      eventP50: median(events),
      eventP99: quantile(events, 0.99),
    };
  }
}

async function openClients(load: Load, tally: Tally): Promise<readonly Client[]> {
  const requests = load.keys.map((key) => load.bodies.map((body) => requestBytes(load, key, body)));
  return Promise.all(
    Array.from({ length: load.connections }, (_, n) =>
      Client.connect(load.port, { requests: requests[n % requests.length] ?? [], first: n, tally }),
    ),
  );
}

const requestBytes = ({ path, headers }: Load, key: string, body: string): Buffer =>
  Buffer.from(
    [
      `POST ${path} HTTP/1.1`,
      "Host: 127.0.0.1",
      "Content-Type: application/json",
      `Authorization: Bearer ${key}`,
      "User-Agent: bench",
      "Accept: application/json",
      ...headers,
      `Content-Length: ${String(Buffer.byteLength(body))}`,
      "",
      body,
    ].join("\r\n"),
  );

interface Asking {
  readonly requests: readonly Buffer[];
  /** Which of them comes first. */
  readonly first: number;
  readonly tally: Tally;
}

const HEAD_END = Buffer.from("\r\n\r\n");
const TIME = Buffer.from('"t":');
const END_OF_CHUNKS = "0\r\n\r\n";
const ZERO = 0x30;
const READ_BYTES = 65_536;
/** One buffer for all reads: each is handled to its end before the next. */
const shared = Buffer.allocUnsafeSlow(READ_BYTES);

/** One connection: a request, its whole answer, and again. */
class Client {
  readonly #socket: Socket;
  readonly #requests: readonly Buffer[];
  readonly #tally: Tally;
  #turn: number;
  #deadline = 0;
  #sentAt = 0;
  #firstByteAt = 0;
  #status = 0;
  /** A head that is not whole yet. */
  #head: Buffer | undefined;
  /** Of a body with a length; -1: it is chunked; undefined: the head is still to come. */
  #left: number | undefined;
  /** The last bytes of a chunked body. */
  #tail = "";
  /** Of `"t":`, then the digits of its number. */
  #matched = 0;
  #time = 0;
  #ended: (() => void) | undefined;
  #onAnswered: (() => void) | undefined;
  /** The first answer's head has come, or there will be none. */
  readonly answered = new Promise<void>((resolve) => (this.#onAnswered = resolve));
  #onBegun: (() => void) | undefined;
  /** And its first byte. */
  readonly begun = new Promise<void>((resolve) => (this.#onBegun = resolve));

  private constructor(socket: Socket, { requests, first, tally }: Asking) {
    this.#socket = socket;
    this.#requests = requests;
    this.#turn = first;
    this.#tally = tally;
  }

  static connect(port: number, asking: Asking): Promise<Client> {
    return new Promise((resolve, reject) => {
      const callback = (length: number): boolean => {
        client.#onData(shared.subarray(0, length));
        return true;
      };
      const socket = connect({ host: "127.0.0.1", port, noDelay: true, onread: { buffer: shared, callback } });
      const client = new Client(socket, asking);
      socket.once("error", reject);
      socket.on("error", () => undefined);
      socket.once("close", () => {
        client.#onClose();
      });
      socket.once("connect", () => {
        resolve(client);
      });
    });
  }

  /** Asks at least once, and again until the deadline has passed. Resolves with the last answer's end. */
  askUntil(deadline: number): Promise<void> {
    this.#deadline = deadline;
    return new Promise((resolve) => {
      this.#ended = resolve;
      this.#ask();
    });
  }

  #ask(): void {
    this.#left = undefined;
    this.#firstByteAt = 0;
    this.#tail = "";
    const request = this.#requests[this.#turn++ % this.#requests.length];
    this.#sentAt = performance.now();
    if (request !== undefined) this.#socket.write(request);
  }

  #onClose(): void {
    if (this.#ended === undefined) return;
    this.#tally.failures += 1;
    this.#finish();
  }

  #finish(): void {
    const ended = this.#ended;
    this.#ended = undefined;
    this.#onAnswered?.();
    this.#onBegun?.();
    this.#socket.destroy();
    ended?.();
  }

  #onData(data: Buffer): void {
    const bytes = this.#left === undefined ? this.#readHead(data) : data;
    if (bytes === undefined || this.#left === undefined) return;
    if (this.#firstByteAt === 0 && bytes.length > 0) this.#begin();
    if (this.#left >= 0) {
      this.#left -= bytes.length;
      if (this.#left <= 0) this.#whole();
      return;
    }
    this.#readEvents(bytes);
    this.#tail = (this.#tail + bytes.toString("latin1", Math.max(0, bytes.length - 5))).slice(-5);
    if (this.#tail === END_OF_CHUNKS) this.#whole();
  }

  #begin(): void {
    this.#firstByteAt = performance.now();
    this.#onBegun?.();
  }

  /** Answers what follows the head. */
  #readHead(data: Buffer): Buffer | undefined {
    const bytes = this.#head === undefined ? data : Buffer.concat([this.#head, data]);
    const end = bytes.indexOf(HEAD_END);
    this.#head = end === -1 ? Buffer.from(bytes) : undefined;
    if (end === -1) return undefined;
    const text = bytes.toString("latin1", 0, end);
    this.#status = Number(text.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(text);
    this.#left = length === null ? -1 : Number(length[1]);
    this.#onAnswered?.();
    return bytes.subarray(end + HEAD_END.length);
  }

  /** The times in events, wherever reads cut them. */
  #readEvents(bytes: Buffer): void {
    let now = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (this.#matched < TIME.length) {
        this.#matched = byte === TIME[this.#matched] ? this.#matched + 1 : byte === TIME[0] ? 1 : 0;
      } else if (byte >= ZERO && byte <= ZERO + 9) this.#time = this.#time * 10 + (byte - ZERO);
      else {
        now ||= microsNow();
        this.#tally.events.push(now - this.#time);
        this.#matched = 0;
        this.#time = 0;
      }
    }
  }

  #whole(): void {
    const now = performance.now();
    this.#tally.totals.push((now - this.#sentAt) * 1000);
    this.#tally.firsts.push((this.#firstByteAt - this.#sentAt) * 1000);
    if (this.#status !== 200) this.#tally.failures += 1;
    if (now < this.#deadline) this.#ask();
    else this.#finish();
  }
}
