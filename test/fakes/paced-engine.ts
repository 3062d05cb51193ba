/**
 * STAND-IN ENGINE for loads of many streams, in the form of llama-server: the same command line, health, properties and
 * metrics. It computes nothing. A chat answer is "0 1 2 …", one number every --pace milliseconds, and an assistant message
 * at the end of the question is gone on with: whoever reads can tell a number that is missing or comes twice.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isList } from "../../src/wire/json-value.ts";

const args = process.argv.slice(2);
const flag = (name: string): string | undefined => args[args.indexOf(name) + 1 || args.length];

if (args.includes("--version")) process.stderr.write("version: 11669 (stand-in)\n");
if (args.includes("--list-devices")) process.stdout.write("Available devices:\n");
if (args.includes("--version") || args.includes("--list-devices")) process.exit(0);

const pace = Number(flag("--pace") ?? 500);
const slots = Number(flag("-np") ?? 1);

interface Stream {
  readonly response: ServerResponse;
  readonly isCounted: boolean;
  /** The next number, the one after the last, and the first that this engine says. */
  next: number;
  readonly end: number;
  readonly first: number;
}

/** All streams, spread over the pace by when they came. */
const TICKS = 20;
const wheel = Array.from({ length: TICKS }, () => new Set<Stream>());
let turn = 0;
let open = 0;
let done = 0;

interface Asked {
  readonly stream?: boolean;
  readonly max_tokens?: number;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages?: readonly { readonly role: string; readonly content: string }[];
}

const event = (fields: object): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...fields })}\n\n`;
const choice = (delta: object, reason: string | null = null): string =>
  event({ choices: [{ index: 0, delta, finish_reason: reason }] });
const PROMPT_TOKENS = 10;

function begin(response: ServerResponse, asked: Asked): void {
  const last = isList(asked.messages) ? asked.messages.at(-1) : undefined;
  const first = last?.role === "assistant" ? last.content.split(" ").length : 0;
  const isCounted = asked.stream_options?.include_usage === true;
  const stream: Stream = { response, isCounted, next: first, end: first + (asked.max_tokens ?? 16), first };
  const slot = wheel[turn % TICKS];
  slot?.add(stream);
  open += 1;
  response.on("close", () => {
    slot?.delete(stream);
    open -= 1;
  });
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(choice({ role: "assistant", content: null }));
}

/** The last number comes with the end, as from an engine, which knows at once that it has said all. */
function say(stream: Stream): void {
  const { response, next, end, first, isCounted } = stream;
  stream.next += 1;
  done += 1;
  const number = choice({ content: next === 0 ? "0" : ` ${String(next)}` });
  if (next + 1 < end) {
    response.write(number);
    return;
  }
  const prompt = PROMPT_TOKENS + first;
  const usage = { prompt_tokens: prompt, completion_tokens: end - first, total_tokens: prompt + end - first };
  const counts = isCounted ? event({ choices: [], usage }) : "";
  response.end(`${number}${choice({}, "stop")}${counts}data: [DONE]\n\n`);
  for (const slot of wheel) slot.delete(stream);
}

setInterval(() => {
  turn += 1;
  for (const stream of wheel[turn % TICKS] ?? []) say(stream);
}, pace / TICKS);

async function bodyOf(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Asked;
}

const ONE_TOKEN = { choices: [{ index: 0, text: "0", finish_reason: "length" }] };
const page = (): string =>
  `llamacpp:requests_processing ${String(open)}\nllamacpp:requests_deferred 0\nllamacpp:n_decode_total ${String(done)}\n`;
const ANSWERS: Readonly<Record<string, () => string>> = {
  "/health": () => '{"status":"ok"}',
  "/props": () => JSON.stringify({ total_slots: slots, default_generation_settings: { n_ctx: 4_096 } }),
  "/metrics": page,
  "/v1/completions": () => JSON.stringify(ONE_TOKEN),
};

createServer((request, response) => {
  const path = request.url ?? "";
  if (path === "/v1/chat/completions") {
    void bodyOf(request).then(
      (asked) => {
        begin(response, asked);
      },
      () => response.destroy(),
    );
    return;
  }
  const answer = ANSWERS[path];
  response.writeHead(answer === undefined ? 404 : 200).end(answer?.() ?? "");
}).listen({ port: Number(flag("--port") ?? 0), host: flag("--host") ?? "127.0.0.1", backlog: 4_096 });
