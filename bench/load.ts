import { connect, type Socket } from "node:net";

/** What is asked, how often at once, and for how long. */
export interface Load {
  readonly port: number;
  readonly path: string;
  readonly body: string;
  readonly connections: number;
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
  readonly firstByteP99: number;
}

/** Keeps every connection busy with one request after another, over plain sockets: the generator must cost less than what it measures. */
export async function run(load: Load): Promise<Measured> {
  const totals: number[] = [];
  const firsts: number[] = [];
  let failures = 0;
  const request = Buffer.from(
    `POST ${load.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer sk-bench\r\n` +
      `User-Agent: bench\r\nAccept: application/json\r\nContent-Length: ${String(Buffer.byteLength(load.body))}\r\n\r\n${load.body}`,
  );
  const startedAt = performance.now();
  const deadline = startedAt + load.durationMs;
  const worker = async (): Promise<void> => {
    const client = await Client.connect(load.port);
    while (performance.now() < deadline) {
      const sentAt = performance.now();
      const answer = await client.ask(request);
      if (answer === undefined) {
        failures += 1;
        break;
      }
      totals.push((performance.now() - sentAt) * 1000);
      firsts.push((answer.firstByteAt - sentAt) * 1000);
      if (answer.status !== 200) failures += 1;
    }
    client.close();
  };
  await Promise.all([...Array(load.connections).keys()].map(worker));
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    requests: totals.length,
    failures,
    perSecond: totals.length / seconds,
    p50: quantile(totals, 0.5),
    p99: quantile(totals, 0.99),
    firstByteP50: quantile(firsts, 0.5),
    firstByteP99: quantile(firsts, 0.99),
  };
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
}

interface Answer {
  readonly status: number;
  /** When the first byte of the body was there. */
  readonly firstByteAt: number;
}

const END_OF_CHUNKS = "\r\n0\r\n\r\n";

/** One connection: a request, its whole answer, and again. */
class Client {
  readonly #socket: Socket;
  #received = "";
  #firstByteAt = 0;
  #bodyStart = -1;
  #needed = -1;
  #done: ((answer: Answer | undefined) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (data: string) => {
      this.#onData(data);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => this.#done?.(undefined));
  }

  static connect(port: number): Promise<Client> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port, noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () => {
        resolve(new Client(socket));
      });
    });
  }

  ask(request: Buffer): Promise<Answer | undefined> {
    this.#received = "";
    this.#bodyStart = -1;
    this.#needed = -1;
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #onData(data: string): void {
    // Of a stream only the end matters once the head is known.
    this.#received =
      this.#bodyStart === -1 || this.#needed >= 0
        ? this.#received + data
        : this.#received.slice(0, 12) + this.#received.slice(-8) + data;
    if (this.#bodyStart === -1) this.#readHead();
    if (this.#bodyStart === -1) return;
    if (this.#firstByteAt === 0 && this.#received.length > this.#bodyStart) this.#firstByteAt = performance.now();
    const isWhole = this.#needed >= 0 ? this.#received.length >= this.#needed : this.#received.endsWith(END_OF_CHUNKS);
    if (!isWhole) return;
    const answer = { status: Number(this.#received.slice(9, 12)), firstByteAt: this.#firstByteAt };
    this.#firstByteAt = 0;
    this.#done?.(answer);
  }

  #readHead(): void {
    const end = this.#received.indexOf("\r\n\r\n");
    if (end === -1) return;
    this.#bodyStart = end + 4;
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#received.slice(0, end));
    this.#needed = length === null ? -1 : end + 4 + Number(length[1]);
  }
}
