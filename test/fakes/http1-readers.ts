import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { bytes } from "../../src/core/ids.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { READ_HEADERS } from "../../src/router/client/client-headers.ts";
import type { ClientRequest, RequestBody } from "../../src/router/client/http-exchange.ts";
import { AnswerHeads } from "../../src/router/client/http1/answer-head.ts";
import { type ConnectionOf, Http1Connection } from "../../src/router/client/http1/connection.ts";
import { StartQueue } from "../../src/router/client/start-queue.ts";
import { DEFAULT_LIMITS } from "../../src/router/limits.ts";
import { Line } from "./line.ts";

// The same bytes given to both readers of HTTP/1.1: the router's own, and llhttp, as Node's server has it.

/** Of heads, small so that cases are. */
export const HEADER_BYTES = 2_048;

/** A request as a reader took it. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  /** Names as they were sent and values, in turn. */
  readonly raw: readonly string[];
  readonly headers: Readonly<Record<string, unknown>>;
  readonly waitsForContinue: boolean;
  /** Latin-1, as far as it came. */
  body: string;
  isWhole: boolean;
}

export interface Seen {
  readonly requests: readonly SeenRequest[];
  /** Why it read no further, in its own words; undefined: it was given nothing that it could not read. */
  readonly refused: string | undefined;
  /** What it wrote. */
  readonly answers: string;
}

async function sendAll(line: Line, pieces: readonly Buffer[]): Promise<void> {
  await line.send("");
  for (const piece of pieces) await line.send(piece);
  await line.finish();
  line.destroy();
}

interface Answered {
  readonly answer: () => void;
}

/** Takes a request to its end and answers it then. */
function see(req: ClientRequest, body: RequestBody, { answer }: Answered, waitsForContinue: boolean): SeenRequest {
  const headers = req.headers;
  const seen: SeenRequest = {
    method: req.method ?? "",
    target: req.url ?? "",
    raw: [...req.rawHeaders],
    headers: Object.fromEntries(READ_HEADERS.map((name) => [name, headers[name]])),
    waitsForContinue,
    body: "",
    isWhole: false,
  };
  body.on("data", (chunk) => {
    seen.body += chunk.toString("latin1");
  });
  body.on("end", () => {
    if (!req.complete) return;
    seen.isWhole = true;
    answer();
  });
  return seen;
}

export async function readByOwn(pieces: readonly Buffer[]): Promise<Seen> {
  const requests: SeenRequest[] = [];
  const line = new Line();
  let refused: string | undefined;
  const of: ConnectionOf = {
    limits: { ...DEFAULT_LIMITS, headerBytes: bytes(HEADER_BYTES) },
    heads: new AnswerHeads(systemClock, 75),
    starts: new StartQueue(systemClock),
    onRequest: ({ req, body, res, waitsForContinue }) => {
      const answer = (): void => {
        res.writeHead(200, ["content-length", "0"]);
        res.end();
      };
      requests.push(see(req, body, { answer }, waitsForContinue));
      if (waitsForContinue) res.writeContinue();
      return undefined;
    },
    onMalformed: (_refusal, detail) => {
      refused = detail;
      return "";
    },
    onGone: () => undefined,
  };
  new Http1Connection(line.socket, of);
  await sendAll(line, pieces);
  return { requests, refused, answers: line.written };
}

/** Node's server, for any number of connections one after another. */
export class NodeReader {
  readonly #server: Server;
  #requests: SeenRequest[] = [];
  #refused: string | undefined;

  constructor() {
    this.#server = createServer({ maxHeaderSize: HEADER_BYTES, insecureHTTPParser: false, requestTimeout: 0 });
    const take = (waitsForContinue: boolean) => (req: IncomingMessage, res: ServerResponse) => {
      const answer = (): void => {
        res.writeHead(200, ["content-length", "0"]);
        res.end();
      };
      req.on("error", () => undefined);
      this.#requests.push(see(req, req, { answer }, waitsForContinue));
      if (waitsForContinue) res.writeContinue();
    };
    this.#server.on("request", take(false));
    this.#server.on("checkContinue", take(true));
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
      this.#refused ??= error.code ?? error.message;
      // What it has read whole is still told.
      setImmediate(() => socket.destroy());
    });
  }

  async read(pieces: readonly Buffer[]): Promise<Seen> {
    const line = new Line();
    this.#requests = [];
    this.#refused = undefined;
    this.#server.emit("connection", line.socket);
    await sendAll(line, pieces);
    return { requests: this.#requests, refused: this.#refused, answers: line.written };
  }
}
