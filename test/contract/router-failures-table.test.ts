import { readFile } from "node:fs/promises";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { freePort } from "../e2e/cluster.ts";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD, type UpstreamConnection } from "../fakes/raw-upstream.ts";
import { type ErrorBody, RouterHarness } from "../fakes/router-harness.ts";

const GUIDE = new URL("../../docs/guide/when-an-engine-fails.md", import.meta.url);
const LIMITS = { tick: millis(10), connect: millis(2_000), firstByte: millis(900), idle: millis(900) };

const FIRST = 'data: {"id":"a","choices":[{"index":0,"delta":{"role":"assistant","content":"Half"}}]}\n\n';
const REST = 'data: {"id":"b","choices":[{"index":0,"delta":{"content":" and half"},"finish_reason":"stop"}]}\n\n';
const WHOLE = '{"choices":[{"message":{"content":"Half and half"}}]}';
const JSON_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
const REFUSAL = '{"error":{"message":"no","type":"server_error","param":null,"code":null}}';

type Fault = (connection: UpstreamConnection, isStream: boolean) => Promise<void> | void;

/** The head and the beginning of an answer. */
const begin = (connection: UpstreamConnection, isStream: boolean): Promise<void> =>
  connection.write(Buffer.concat([Buffer.from(isStream ? STREAM_HEAD : JSON_HEAD), chunk(isStream ? FIRST : "{")]));
/** An answer of that status, in one piece. */
const answer =
  (status: string, body: string, headers = ""): Fault =>
  (connection) =>
    connection.write(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${headers}Content-Length: ${String(body.length)}\r\n\r\n${body}`,
    );

/** Undefined: nobody listens. */
const FAULTS: Readonly<Record<string, Fault | undefined>> = {
  "cannot be connected to": undefined,
  "resets the connection before it answers": (connection) => {
    connection.reset();
  },
  "resets the connection in the middle of its answer": async (connection, isStream) => {
    await begin(connection, isStream);
    connection.end();
  },
  "takes longer than the limit for its first byte": (connection) => connection.closed,
  "sends a status line that is none": (connection) => {
    connection.end("HTTP/1.1 OK fine\r\n\r\n");
  },
  "answers 500": answer("500 Internal Server Error", REFUSAL),
  "answers 429 with Retry-After": answer("429 Too Many Requests", REFUSAL, "Retry-After: 7\r\n"),
  "redirects (301)": answer("301 Moved Permanently", "", "Location: http://127.0.0.1:1/\r\n"),
  "answers 200 with an empty body": answer("200 OK", ""),
  "ends inside a chunk": async (connection, isStream) => {
    await begin(connection, isStream);
    await connection.write("64\r\ndata: {");
    connection.end();
  },
  "begins its answer and falls silent": async (connection, isStream) => {
    await begin(connection, isStream);
    await connection.closed;
  },
  "dies while it reads the prompt": async (connection) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    connection.reset();
  },
};

const good = async (connection: UpstreamConnection, isStream: boolean, isRest: boolean): Promise<void> => {
  if (!isStream) return connection.write(json(WHOLE));
  const events = `${isRest ? "" : FIRST}${REST}data: [DONE]\n\n`;
  return connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk(events), Buffer.from(LAST_CHUNK)]));
};

/** What a client would say of it, as the guide does. */
async function seen(response: Response): Promise<string> {
  let text = "";
  try {
    for await (const bytes of response.body ?? []) text += Buffer.from(bytes as Uint8Array).toString();
  } catch {
    return "a part, then the connection breaks";
  }
  return response.status === 200 ? answered(text) : refused(response, text);
}

function refused({ status, headers }: Response, text: string): string {
  const { code } = (JSON.parse(text) as ErrorBody).error;
  const retryAfter = headers.get("retry-after");
  return `${String(status)}${code === null ? "" : ` ${code}`}${retryAfter === null ? "" : `, retry-after ${retryAfter}`}`;
}

function answered(text: string): string {
  const error = /data: (\{"error":.*\})\n\n$/.exec(text)?.[1];
  if (error !== undefined) return `a part, then an error event ${(JSON.parse(error) as ErrorBody).error.code ?? ""}`;
  const isWhole = text === WHOLE || /Half".*"content":" and half".*\[DONE\]/s.test(text);
  return isWhole ? "the whole answer" : `unlike anything: ${text}`;
}

let harness: RouterHarness;
let rows: ReadonlyMap<string, readonly string[]>;

beforeAll(async () => {
  const lines = (await readFile(GUIDE, "utf8")).split("\n").filter((line) => line.startsWith("| "));
  rows = new Map(
    lines.slice(2).map((line) => {
      const [name = "", ...cells] = line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [name, cells];
    }),
  );
});

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

/** Two engines, or one: the first request meets the fault. */
async function ask(fault: Fault | undefined, isStream: boolean, isAlone: boolean): Promise<string> {
  harness = await RouterHarness.start({ limits: LIMITS });
  harness.apis = ["chat", "continues-last-message"];
  let requests = 0;
  const script = async (connection: UpstreamConnection, { body }: { readonly body: Buffer }): Promise<void> => {
    requests += 1;
    const isRest = body.includes("Half");
    if (requests > 1 || fault === undefined) await good(connection, isStream, isRest);
    else await fault(connection, isStream);
  };
  const engine = async (): Promise<RawUpstream> => harness.adopt(await RawUpstream.onRequest(script));
  const first = fault === undefined ? await freePort() : await engine();
  await harness.serve({ m: isAlone ? [first] : [first, await engine()] });
  return seen(await harness.post({ model: "m", stream: isStream, messages: [{ role: "user", content: "hi" }] }));
}

describe("what a client sees of an engine that", () => {
  test.each(Object.entries(FAULTS))("%s is what the guide says", async (name, fault) => {
    const outcomes: string[] = [];
    for (const [isStream, isAlone] of [
      [false, true],
      [true, true],
      [false, false],
      [true, false],
    ] as const) {
      outcomes.push(await ask(fault, isStream, isAlone));
      await harness.idle();
      await harness.stop();
    }
    expect(outcomes).toEqual(rows.get(name));
    harness = await RouterHarness.start();
  });

  test("the guide tells of each, and of no other", async () => {
    harness = await RouterHarness.start();
    expect([...rows.keys()]).toEqual(Object.keys(FAULTS));
  });
});
