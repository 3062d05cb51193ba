import { STATUS_CODES } from "node:http";
import type { Clock } from "../../../platform/clock.ts";

/** The connection on which an answer goes out, as far as its head tells of it. */
interface AnswerOf {
  readonly isHttp11: boolean;
  /** HEAD: the answer has no body, whatever its headers say. */
  readonly isHead: boolean;
  /** Another request may follow. */
  readonly keepsAlive: boolean;
}

export interface AnswerHead {
  /** Latin-1, with its empty line. */
  readonly text: string;
  readonly body: "none" | "plain" | "chunked";
  readonly isLast: boolean;
}

/** What may not stand on a line: with it whoever made the text could write lines of the answer. */
const NOT_OF_LINE = /[^\t\x20-\x7e\x80-\xff]/;

/** What is the same in the heads of many answers. */
export class AnswerHeads {
  readonly #clock: Clock;
  readonly #keepAlive: string;
  #second = -1;
  #date = "";

  /** `idleSeconds`: what clients are told of how long a connection is kept. */
  constructor(clock: Clock, idleSeconds: number) {
    this.#clock = clock;
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${String(idleSeconds)}\r\n`;
  }

  /**
   * `headers`: names in lower case, which are ours or were read as names, and values, in turn; a value that could not stand on
   * its line is left out. A `connection` among them is for its close.
   */
  head(status: number, headers: readonly string[], of: AnswerOf): AnswerHead {
    const said = saidBy(headers);
    const body = bodyOf(status, said.hasLength, of);
    const isUntilClose = body === "plain" && !said.hasLength;
    const isLast = !of.keepsAlive || isUntilClose || said.isClosed;
    let text = `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? "unknown"}\r\n${said.lines}${this.#dateLine()}`;
    if (!said.isClosed) text += isLast ? "Connection: close\r\n" : this.#keepAlive;
    text += body === "chunked" ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
    return { text, body, isLast };
  }

  #dateLine(): string {
    const now = this.#clock.now();
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = `Date: ${new Date(now).toUTCString()}\r\n`;
    }
    return this.#date;
  }
}

function bodyOf(status: number, hasLength: boolean, { isHead, isHttp11 }: AnswerOf): AnswerHead["body"] {
  if (isHead || status === 204 || status === 304) return "none";
  return hasLength || !isHttp11 ? "plain" : "chunked";
}

/** The lines of headers, and what they say of what comes behind them. */
interface Said {
  readonly lines: string;
  readonly hasLength: boolean;
  readonly isClosed: boolean;
}

function saidBy(headers: readonly string[]): Said {
  let lines = "";
  let hasLength = false;
  let isClosed = false;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? "";
    const value = headers[index + 1] ?? "";
    if (NOT_OF_LINE.test(value)) continue;
    if (name === "content-length") hasLength = true;
    else if (name === "connection") isClosed = true;
    lines += `${name}: ${value}\r\n`;
  }
  return { lines, hasLength, isClosed };
}
