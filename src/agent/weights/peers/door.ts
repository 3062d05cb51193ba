import type { IncomingMessage, ServerResponse } from "node:http";
import type { X509Certificate } from "node:crypto";
import { pieceBytesOf } from "../../../core/pieces.ts";
import { type Clock, pause } from "../../../platform/clock.ts";
import type { WebHandler } from "../../../platform/listen.ts";
import type { Logger } from "../../../platform/logger.ts";
import { peerCertificates } from "../../../platform/peer-certificate.ts";
import type { Guest, Guests, Refusal } from "./guests.ts";
import { Pace } from "./pace.ts";
import type { Shelf, Shelved } from "./shelf.ts";

export interface DoorOptions {
  readonly guests: Guests;
  readonly shelf: Pick<Shelf, "find">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Why the certificates are not those of the node; undefined: they are. */
  readonly judge: (node: string, certificates: readonly X509Certificate[]) => string | undefined;
  /** A file that lies here has wrong bytes. */
  readonly onWrong: (key: string) => void;
}

/** Pieces that are being sent at one time: each is held in memory until it is gone. */
const MOST_SENDING = 16;
/** What engines' own traffic leaves room for on a network of 10 Gbit/s. */
const MOST_BYTES_PER_SECOND = 1024 ** 3;
/** Notes in one answer. */
const MOST_NOTES = 4096;
/** A reader that takes nothing for so long is gone. */
const SEND_IDLE_MS = 30_000;

const WORDS: Readonly<Record<Refusal, readonly [status: number, text: string]>> = {
  unknown: [401, "nobody has given this permission"],
  used: [403, "this permission was used already: each lets its node in once"],
  expired: [403, "this permission has ended"],
  "other-node": [403, "this permission is another node's"],
  full: [503, "too many nodes fetch from here already"],
};

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
}

/** Serves this node's weights to those whom the control plane has given a permission. */
export function peerDoor(options: DoorOptions): WebHandler {
  const door = new Door(options);
  return (request, response) => {
    // Both kinds have what is used of them; their overloads only cannot be called as a union.
    const exchange = { request: request as IncomingMessage, response: response as ServerResponse };
    // What cannot be read as an address is no place that there is.
    const url = URL.parse(request.url ?? "/", "http://peer") ?? new URL("http://peer/");
    door.answer({ ...exchange, url }).catch((error: unknown) => {
      options.logger.warn({ err: error }, "another node could not be given weights");
      if (exchange.response.headersSent) exchange.response.destroy();
      else say(exchange.response, 500, "the file cannot be read");
    });
  };
}

class Door {
  readonly #options: DoorOptions;
  readonly #pace = new Pace(MOST_BYTES_PER_SECOND);
  #sending = 0;

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  async answer(exchange: Exchange): Promise<void> {
    const { request, response, url } = exchange;
    const [, area, what = "", index = ""] = url.pathname.split("/");
    if (area !== "weights") {
      say(response, 404, "here are weights for other nodes");
    } else if (what === "visits" && request.method === "POST") {
      await this.#enter(exchange);
    } else if (request.method !== "GET") {
      say(response, 405, "only GET");
    } else {
      await this.#serve(exchange, { what, index });
    }
  }

  async #enter({ request, response }: Exchange): Promise<void> {
    const { guests, clock } = this.#options;
    const permission = shown(request);
    const now = clock.monotonic();
    const found = guests.look(permission, now);
    if (!found.ok) {
      refuse(response, found.error);
      return;
    }
    const foreign = this.#foreign(request, found.value);
    if (foreign !== undefined) {
      say(response, 403, foreign);
      return;
    }
    const shelved = await this.#find(found.value, response);
    if (shelved === undefined) return;
    const visit = guests.enter(permission, String(request.headers["x-llmgw-node"] ?? ""), now);
    if (visit.ok) json(response, { visit: visit.value, bytes: shelved.bytes });
    else refuse(response, visit.error);
  }

  async #serve(exchange: Exchange, asked: { readonly what: string; readonly index: string }): Promise<void> {
    const { request, response } = exchange;
    const { guests, clock } = this.#options;
    const guest = guests.visiting(shown(request), clock.monotonic());
    if (guest === undefined) {
      say(response, 401, "this visit has ended, or never was one");
      return;
    }
    const foreign = this.#foreign(request, guest);
    if (foreign !== undefined) {
      say(response, 403, foreign);
      return;
    }
    const shelved = await this.#find(guest, response);
    if (shelved !== undefined) await this.#give(exchange, shelved, asked);
  }

  async #give(
    { response, url }: Exchange,
    shelved: Shelved,
    { what, index }: { readonly what: string; readonly index: string },
  ): Promise<void> {
    if (what === "notes") {
      const after = Number(url.searchParams.get("after") ?? 0);
      const notes = shelved.notes.slice(after, after + MOST_NOTES).map((note) => [note.index, note.sha256]);
      json(response, { bytes: shelved.bytes, sha256: shelved.sha256, generation: shelved.generation, notes });
    } else if (what === "pieces" && /^\d{1,9}$/.test(index)) {
      await this.#send(response, shelved, Number(index));
    } else say(response, 404, "there are notes and pieces");
  }

  /** Undefined: it was said why not. */
  async #find({ key }: Guest, response: ServerResponse): Promise<Shelved | undefined> {
    const found = await this.#options.shelf.find(key);
    if (found === "wrong") this.#options.onWrong(key);
    if (typeof found === "object") return found;
    say(response, found === "wrong" ? 410 : 404, found === "wrong" ? "the bytes here are wrong" : "it is not here now");
    return undefined;
  }

  async #send(response: ServerResponse, shelved: Shelved, index: number): Promise<void> {
    if (!shelved.notes.some((note) => note.index === index)) {
      say(response, 404, "this piece is not here now");
      return;
    }
    if (this.#sending >= MOST_SENDING) {
      response.setHeader("retry-after", "1");
      say(response, 503, "too much is being sent already");
      return;
    }
    this.#sending += 1;
    try {
      const { clock } = this.#options;
      await pause(clock, this.#pace.wait(pieceBytesOf(shelved.bytes), clock.monotonic()));
      const data = await shelved.read(index);
      if (data === undefined) say(response, 404, "this piece is not here now");
      else await send(response, data);
    } finally {
      this.#sending -= 1;
    }
  }

  /** Why whoever shows these certificates is not that node. */
  #foreign(request: IncomingMessage, { node }: Guest): string | undefined {
    const certificates = peerCertificates(request)?.certificates;
    return certificates === undefined ? undefined : this.#options.judge(node, certificates);
  }
}

const shown = (request: IncomingMessage): string =>
  /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";

const refuse = (response: ServerResponse, refusal: Refusal): void => {
  say(response, ...WORDS[refusal]);
};

function say(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  response.end(`${text}\n`);
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

/** Resolves when the bytes are gone, or the reader is. */
function send(response: ServerResponse, data: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed || response.closed) {
      resolve();
      return;
    }
    response.once("close", resolve);
    response.setTimeout(SEND_IDLE_MS, () => {
      response.destroy();
    });
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": data.length });
    response.end(data);
  });
}
