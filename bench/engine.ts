// A synthetic engine in a process of its own, so fast that what is measured in front of it is not it. It answers a request
// with 600 bytes of JSON. One whose body begins with "stream":true gets "events" events of about 200 bytes, one every "pace"
// ms (0: all at once), each with the time that it left as "t": microseconds of the machine's monotonic clock.
import { createServer, type Socket } from "node:net";
import { microsNow } from "./micros.ts";

const content = "x".repeat(420);
const body = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"${content}"}}],"usage":{"prompt_tokens":200,"completion_tokens":100,"total_tokens":300}}`;
const whole = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
);

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const TIME_DIGITS = 16;
const event = chunk(
  `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","t":${"0".repeat(TIME_DIGITS)},"choices":[{"index":0,"delta":{"content":"${"y".repeat(60)}"},"finish_reason":null}]}\n\n`,
);
const TIME_AT = event.indexOf('"t":') + 4;
const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const finish = chunk('data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n');
const counts = chunk(
  'data: {"id":"c","choices":[],"usage":{"prompt_tokens":200,"completion_tokens":64,"total_tokens":264}}\n\n',
);
const end = `${chunk("data: [DONE]\n\n")}0\r\n\r\n`;
/** With the counts, for a request that asks for them, and without. */
const tails = { true: Buffer.from(finish + counts + end), false: Buffer.from(finish + end) };

function eventNow(): Buffer {
  const bytes = Buffer.from(event);
  bytes.write(String(microsNow()).padStart(TIME_DIGITS, "0"), TIME_AT);
  return bytes;
}

interface Stream {
  readonly socket: Socket;
  readonly tail: Buffer;
  left: number;
}

/** All streams of one pace, spread evenly over it: no burst of the engine's own is to be measured. */
class Wheel {
  readonly #slots: Set<Stream>[];
  #next = 0;
  #turned = Math.floor(performance.now());

  constructor(pace: number) {
    this.#slots = Array.from({ length: pace }, () => new Set<Stream>());
    setInterval(() => {
      this.#turn();
    }, 1);
  }

  add(stream: Stream): void {
    this.#slots[this.#next++ % this.#slots.length]?.add(stream);
  }

  #turn(): void {
    const now = Math.floor(performance.now());
    while (this.#turned < now) {
      this.#turned += 1;
      const slot = this.#slots[this.#turned % this.#slots.length];
      if (slot !== undefined && slot.size > 0) this.#send(slot);
    }
  }

  #send(slot: Set<Stream>): void {
    const bytes = eventNow();
    for (const stream of slot) {
      const isOver = stream.left === 0 || stream.socket.destroyed;
      if (isOver) slot.delete(stream);
      if (!stream.socket.destroyed) stream.socket.write(isOver ? stream.tail : bytes);
      stream.left -= 1;
    }
  }
}

const wheels = new Map<number, Wheel>();

function startStream(socket: Socket, request: string): void {
  const pace = Number(/"pace":(\d+)/.exec(request)?.[1] ?? 0);
  const left = Number(/"events":(\d+)/.exec(request)?.[1] ?? 64);
  const tail = tails[request.includes('"include_usage":true') ? "true" : "false"];
  socket.write(head);
  if (pace > 0) {
    const wheel = wheels.get(pace) ?? new Wheel(pace);
    wheels.set(pace, wheel);
    wheel.add({ socket, tail, left });
  } else socket.write(Buffer.concat([...Array.from({ length: left }, eventNow), tail]));
}

const HEAD_END = Buffer.from("\r\n\r\n");
const STREAM = '"stream":true';
/** So much of a body tells what is asked. */
const WINDOW = 2_048;

/** One client's requests, one after another. */
class Connection {
  readonly #socket: Socket;
  #begun: Buffer | undefined;
  /** Bytes of a body that are still to come, of a request that `#asks` is the beginning of. */
  #left = 0;
  #asks = "";

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  onData(data: Buffer): void {
    if (this.#left > 0) {
      if (this.#asks.length < WINDOW) this.#asks += data.toString("latin1", 0, Math.min(this.#left, WINDOW));
      this.#left -= data.length;
      if (this.#left <= 0) this.#answer();
      return;
    }
    const bytes = this.#begun === undefined ? data : Buffer.concat([this.#begun, data]);
    const headEnd = bytes.indexOf(HEAD_END);
    this.#begun = headEnd === -1 ? Buffer.from(bytes) : undefined;
    if (headEnd === -1) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, headEnd + 2))?.[1] ?? 0);
    const from = headEnd + HEAD_END.length;
    this.#asks = bytes.toString("latin1", from, from + WINDOW);
    this.#left = from + length - bytes.length;
    if (this.#left <= 0) this.#answer();
  }

  #answer(): void {
    this.#left = 0;
    if (this.#asks.includes(STREAM)) startStream(this.#socket, this.#asks);
    else this.#socket.write(whole);
  }
}

// Node reads into a new buffer each time unless a socket is made with one: those of a server cannot be.
const server = createServer({ noDelay: true }, (socket) => {
  const connection = new Connection(socket);
  socket.on("error", () => socket.destroy());
  socket.on("data", (data: Buffer) => {
    connection.onData(data);
  });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 8_192 }, () => {
  const address = server.address();
  process.send?.({ port: address !== null && typeof address === "object" ? address.port : 0 });
});
process.on("disconnect", () => {
  process.exit(0);
});
