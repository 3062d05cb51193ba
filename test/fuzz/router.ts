import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { bytes } from "../../src/core/ids.ts";
import { RouterHarness } from "../fakes/router-harness.ts";
import { VersionClient } from "../fakes/versions-client.ts";
import type { Chance } from "./chance.ts";
import { DATA, type Frame, framesOf, mutatedConnection, plainConnection } from "./http2-frames.ts";
import { mutatedBytes, mutatedText, mutatedValue } from "./mutate.ts";
import { exchange, recorded } from "./socket.ts";
import type { OpenTarget, Target } from "./target.ts";

const CHAT = {
  model: "m",
  messages: [
    { role: "system", content: "be brief" },
    {
      role: "user",
      content: [
        { type: "text", text: "hi" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
      ],
    },
  ],
  stream: true,
  stream_options: { include_usage: true },
  max_tokens: 5,
  tools: [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }],
};
const BODIES: Readonly<Record<string, unknown>> = {
  "/v1/chat/completions": CHAT,
  "/v1/completions": { model: "m", prompt: ["a", "b"], stream: false },
  "/v1/embeddings": { model: "m", input: ["a"] },
  "/v1/responses": { model: "m", input: [{ role: "user", content: "hi" }], stream: true },
  "/v1/messages": { model: "m", max_tokens: 5, messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }] },
  "/v1/models": {},
  "/v1/rerank": { model: "m", query: "q", documents: ["a"] },
};
const PATHS = [
  ...Object.keys(BODIES),
  "/",
  "//v1/models",
  "/v1/../metrics",
  "/metrics",
  "/v1/models/m%2f..",
  "/slots",
  "*",
  "http://x/y",
];
const HEADERS = [
  ...[
    "Authorization: Bearer x",
    "Expect: 100-continue",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
  ],
  ...[
    "Content-Length: -1",
    "Content-Length: 5, 5",
    "Connection: upgrade\r\nUpgrade: h2c",
    "Content-Encoding: gzip",
    "Range: bytes=0-",
  ],
  ...[
    "X-Request-Id: \u0001",
    "Host: y",
    "Origin: null",
    "traceparent: 00-x",
    "x: \u00ff",
    "X-Forwarded-For: ::",
    "Accept: */*;q=x",
  ],
];
const TYPES = [
  "application/json",
  "multipart/form-data; boundary=b",
  "text/plain",
  "application/json; charset=utf-7",
  "",
];
const FORM =
  '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nxyz\r\n--b--\r\n';
const PIECES = [
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  '"',
  "null",
  "\\u0000",
  "\\ud800",
  "1e400",
  '"model":',
  '"m"',
  '"stream":',
  "\r\n",
  "\0",
  "--b",
  "--b--",
];

function body(chance: Chance, path: string, type: string): Buffer {
  if (type.startsWith("multipart")) return Buffer.from(mutatedText(chance, FORM, PIECES));
  const json = JSON.stringify(mutatedValue(chance, BODIES[path] ?? CHAT));
  if (chance.is(0.02)) return Buffer.from("[".repeat(1 + chance.length(100_000)));
  return Buffer.from(chance.is(0.4) ? mutatedText(chance, json, PIECES) : json);
}

function chunked(chance: Chance, whole: Buffer): Buffer {
  const size = chance.is(0.8)
    ? whole.length.toString(16)
    : chance.pick(["-1", "ffffffffffffffff", "g", "", "0", "5;a=b"]);
  return Buffer.concat([Buffer.from(`${size}\r\n`), whole, Buffer.from(chance.is(0.9) ? "\r\n0\r\n\r\n" : "0\r\n")]);
}

function request(chance: Chance): Buffer {
  const path = chance.is(0.8) ? chance.pick(Object.keys(BODIES)) : chance.pick(PATHS);
  const type = chance.is(0.7) ? "application/json" : chance.pick(TYPES);
  const whole = body(chance, path, type);
  const isChunked = chance.is(0.2);
  const length = whole.length + (chance.is(0.9) ? 0 : chance.below(9) - 4);
  const lines = [
    `${method(chance)} ${path} HTTP/${chance.is(0.95) ? "1.1" : chance.pick(["1.0", "2.0", "0.9", "x"])}`,
    "Host: x",
    `Content-Type: ${type}`,
    isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${String(length)}`,
    ...strangeHeaders(chance),
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return Buffer.concat([head, isChunked ? chunked(chance, whole) : whole]);
}

const method = (chance: Chance): string =>
  chance.is(0.85) ? "POST" : chance.pick(["GET", "HEAD", "OPTIONS", "PUT", "CONNECT", "TRACE", "p", ""]);

function strangeHeaders(chance: Chance): readonly string[] {
  const strange = chance.is(0.3) ? [chance.pick(HEADERS)] : [];
  return chance.is(0.02) ? [...strange, `X-Long: ${"x".repeat(chance.below(100_000))}`] : strange;
}

function pieces(chance: Chance): readonly Buffer[] {
  if (chance.is(0.05)) return [chance.bytes(1 + chance.length(10_000))];
  const one = request(chance);
  const bytes = chance.is(0.15) ? mutatedBytes(chance, one) : one;
  if (chance.is(0.1)) return [bytes, request(chance), request(chance)];
  const cut = chance.below(bytes.length + 1);
  return chance.is(0.3) ? [bytes.subarray(0, cut), bytes.subarray(cut)] : [bytes];
}

/** An engine that takes everything: whatever is wrong with a request, the router is to say so. */
async function engine(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((asked, response) => {
    asked.resume();
    asked.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end('{"id":"x","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}');
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return { server, port: address.port };
}

/** Frames changed, or frames as they are around a body that is. */
function connection(chance: Chance, frames: readonly Frame[]): readonly Buffer[] {
  if (chance.is(0.5)) return mutatedConnection(chance, frames);
  const whole = body(chance, "/v1/chat/completions", "application/json").subarray(0, 16_384);
  return plainConnection(frames.map((frame) => (frame.type === DATA ? { ...frame, payload: whole } : frame)));
}

/** One request over HTTP/2, and the connection's end. */
async function recordRequest(port: number): Promise<void> {
  const client = new VersionClient("HTTP/2", `http://127.0.0.1:${String(port)}`);
  await client.ask({ body: JSON.stringify(CHAT), headers: { "x-a": "b" } }).ended();
  client.close();
}

class RouterDoor implements OpenTarget {
  readonly #harness: RouterHarness;
  readonly #engine: Server;
  readonly #frames: readonly Frame[];

  private constructor(harness: RouterHarness, server: Server, frames: readonly Frame[]) {
    this.#harness = harness;
    this.#engine = server;
    this.#frames = frames;
  }

  static async open(): Promise<RouterDoor> {
    // Some of the bodies are passed on as they come.
    const harness = await RouterHarness.start({ limits: { keptBodyBytes: bytes(200) } });
    const { server, port } = await engine();
    await harness.serve({ m: [port] });
    return new RouterDoor(harness, server, framesOf(await recorded(harness.router.port, recordRequest)));
  }

  async once(chance: Chance): Promise<void> {
    const { port } = this.#harness.router;
    if (chance.is(0.25)) {
      await exchange(port, connection(chance, this.#frames));
      return;
    }
    const received = await exchange(port, pieces(chance), (so) => isWhole(so.toString("latin1")));
    const text = received.toString("latin1");
    if (/^HTTP\/1\.1 500 /.test(text) || /TypeError|RangeError|at file:/.test(text))
      throw new Error(text.slice(0, 400));
  }

  async check(): Promise<void> {
    const fault = this.#harness.logs.find(({ level, code }) => Number(level) >= 50 || code === 500);
    if (fault !== undefined) throw new Error(JSON.stringify(fault));
    this.#harness.logs.length = 0;
    const answer = await this.#harness.post({ model: "m", messages: [{ role: "user", content: "hi" }] });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`a good request is answered ${String(answer.status)}: ${text}`);
  }

  async close(): Promise<void> {
    await this.#harness.idle();
    await this.#harness.stop();
    this.#engine.closeAllConnections();
    this.#engine.close();
  }
}

/** One answer with its length said, or a stream that has ended. */
function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, end))?.[1];
  return length === undefined ? text.endsWith("0\r\n\r\n") : text.length >= end + 4 + Number(length);
}

/** The router's port, as raw bytes: HTTP/1.1 and HTTP/2, JSON, forms and every API that it translates. */
export const routerTarget: Target = { name: "router", atOnce: 8, open: () => RouterDoor.open() };
