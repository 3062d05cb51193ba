import { request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from "node:http2";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import { until } from "../e2e/wait.ts";

/** How a client speaks to a router. */
export type Version =
  | "HTTP/1.1"
  | "HTTP/1.1 with TLS"
  /** Which is read by Node's own server. */
  | "HTTP/1.1 by Node"
  | "HTTP/1.1 with TLS by Node"
  | "HTTP/2"
  | "HTTP/2 with TLS";

export const VERSIONS: readonly Version[] = [
  "HTTP/1.1",
  "HTTP/1.1 with TLS",
  "HTTP/1.1 by Node",
  "HTTP/1.1 with TLS by Node",
  "HTTP/2",
  "HTTP/2 with TLS",
];

export interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Undefined with `isOpen`: what follows is written by the test. */
  readonly body?: string | Buffer;
  readonly isOpen?: boolean;
}

/** One request and what came back of it so far, the same over every version. */
export class Call {
  status = 0;
  headers: Readonly<Record<string, unknown>> = {};
  continued = false;
  /** How it ended: whole, or cut off. */
  end: "none" | "whole" | "cut" = "none";
  #text: Buffer[] = [];
  #body: IncomingMessage | ClientHttp2Stream | undefined;
  readonly #upload: ClientRequest | ClientHttp2Stream;
  readonly #abort: () => void;

  constructor(upload: ClientRequest | ClientHttp2Stream, abort: () => void) {
    this.#upload = upload;
    this.#abort = abort;
    upload.on("error", () => {
      this.cut();
    });
    upload.on("continue", () => {
      this.continued = true;
    });
  }

  begin(status: number, headers: Readonly<Record<string, unknown>>, body: IncomingMessage | ClientHttp2Stream): void {
    this.status = status;
    this.headers = headers;
    this.#body = body;
    body.on("data", (chunk: Buffer) => this.#text.push(chunk));
    body.on("error", () => {
      this.cut();
    });
    body.on("end", () => {
      const isCut = "complete" in body ? !body.complete : body.rstCode !== 0 || body.aborted;
      if (isCut) this.cut();
      else if (this.end === "none") this.end = "whole";
    });
    body.on("close", () => {
      this.cut();
    });
  }

  cut(): void {
    if (this.end === "none") this.end = "cut";
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#text);
  }

  get text(): string {
    return this.bytes.toString("utf8");
  }

  get json(): unknown {
    return JSON.parse(this.text) as unknown;
  }

  /** What the request has written and nobody has taken yet. */
  get waiting(): number {
    return this.#upload.writableLength;
  }

  write(bytes: string | Buffer): boolean {
    return this.#upload.write(bytes);
  }

  finish(): void {
    this.#upload.end();
  }

  pause(): void {
    this.#body?.pause();
  }

  resume(): void {
    this.#body?.resume();
  }

  /** As a client does that has lost interest. */
  abort(): void {
    this.#abort();
  }

  async began(): Promise<this> {
    await until("the answer's head", () => this.status !== 0 || this.end !== "none", { timeoutMs: 10_000 });
    return this;
  }

  async ended(): Promise<this> {
    const seen = (): string => `${String(this.status)} ${this.text.slice(-500)}`;
    await until("the answer's end", () => this.end !== "none", { timeoutMs: 10_000, seen });
    return this;
  }

  async waitFor(text: string): Promise<this> {
    const seen = (): string => this.text.slice(-500);
    await until(JSON.stringify(text), () => this.text.includes(text), { timeoutMs: 10_000, seen });
    return this;
  }
}

/** A client of one version. With HTTP/2 all of its requests share a connection. */
export class VersionClient {
  readonly version: Version;
  readonly #url: URL;
  readonly #ca: string | undefined;
  readonly session: ClientHttp2Session | undefined;
  readonly #calls: Call[] = [];

  constructor(version: Version, url: string, ca?: string) {
    this.version = version;
    this.#url = new URL(url);
    this.#ca = ca;
    if (!version.startsWith("HTTP/2")) return;
    // Node's own limit for what is sent is that of the router for what it takes.
    this.session = connect(url, { maxSendHeaderBlockLength: 1 << 24, ...(ca === undefined ? {} : { ca }) });
    // What it means for a request is told to that request.
    this.session.on("error", () => undefined);
  }

  ask(ask: Ask = {}): Call {
    const call = this.session === undefined ? this.#askOld(ask) : this.#askNew(this.session, ask);
    this.#calls.push(call);
    return call;
  }

  #askNew(session: ClientHttp2Session, ask: Ask): Call {
    const { method = "POST", path = "/v1/chat/completions", headers = {}, body, isOpen = false } = ask;
    const endStream = body === undefined && !isOpen;
    // Closing the stream would end the body properly first.
    const leaving = new AbortController();
    const options = { endStream, signal: leaving.signal };
    const stream = session.request({ ":method": method, ":path": path, ...typed(headers) }, options);
    const call = new Call(stream, () => {
      leaving.abort();
    });
    stream.on("response", (answer: IncomingHttpHeaders & { readonly ":status"?: number }) => {
      call.begin(answer[":status"] ?? 0, answer, stream);
    });
    stream.on("close", () => {
      call.cut();
    });
    send(stream, ask);
    return call;
  }

  #askOld(ask: Ask): Call {
    const { method = "POST", path = "/v1/chat/completions", headers = {} } = ask;
    const request = this.#ca === undefined ? requestHttp : requestHttps;
    const trust = this.#ca === undefined ? {} : { ca: this.#ca };
    const outgoing = request(new URL(path, this.#url), { method, headers: typed(headers), agent: false, ...trust });
    const call = new Call(outgoing, () => outgoing.destroy());
    outgoing.on("response", (answer) => {
      call.begin(answer.statusCode ?? 0, answer.headers, answer);
    });
    outgoing.on("close", () => {
      call.cut();
    });
    outgoing.flushHeaders();
    send(outgoing, ask);
    return call;
  }

  close(): void {
    for (const call of this.#calls) call.abort();
    this.session?.destroy();
  }
}

const typed = (headers: Readonly<Record<string, string>>): Record<string, string> => ({
  "content-type": "application/json",
  ...headers,
});

function send(upload: Duplex | ClientRequest, { body, isOpen = false }: Ask): void {
  if (isOpen) {
    if (body !== undefined) upload.write(body);
  } else if (body === undefined) upload.end();
  else upload.end(body);
}
