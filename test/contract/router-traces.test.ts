import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { until } from "../e2e/wait.ts";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import { RouterHarness } from "../fakes/router-harness.ts";

interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: readonly {
    readonly key: string;
    readonly value: Readonly<Record<string, string | number | boolean>>;
  }[];
}

interface SentTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: SentSpan["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const PROMPT = "nobody else may read this";

let collector: Server;
let harness: RouterHarness;
const sent: string[] = [];

/** A collector as OTLP over HTTP asks for it: it takes JSON at /v1/traces. */
beforeEach(async () => {
  sent.length = 0;
  collector = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      if (req.url === "/v1/traces") sent.push(Buffer.concat(parts).toString());
      res.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const { port } = collector.address() as { port: number };
  process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = `http://127.0.0.1:${String(port)}`;
});

afterEach(async () => {
  delete process.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
  await harness.stop();
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
});

/** Whatever is left is sent when the router stops. */
async function spans(): Promise<readonly SentSpan[]> {
  await harness.stop();
  await until("spans", () => sent.length > 0);
  return sent.flatMap((text) =>
    (JSON.parse(text) as SentTraces).resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap((scope) => [...scope.spans]),
    ),
  );
}

const valuesOf = ({ attributes }: SentSpan): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

test("a request is one trace: its own span, and one for each engine that it was sent to", async () => {
  harness = await RouterHarness.start({ env: process.env, limits: { tick: millis(20) } });
  const usage = '{"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}';
  const broken = await harness.upstream((connection) => {
    connection.reset();
  });
  const good = harness.adopt(await RawUpstream.answering(json(usage)));
  await harness.serve({ m: [broken, good] });
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };
  let asked = 0;
  await until("an answer after a failed try", async () => {
    // Each a conversation of its own, so that one of them is the broken engine's.
    asked += 1;
    const messages = [{ role: "user", content: `${String(asked)} ${PROMPT}` }];
    const answer = await harness.post({ model: "m", messages }, { headers });
    await answer.text();
    return answer.headers.get("x-llmgw-attempts") === "2";
  });

  const all = await spans();
  const whole = all.filter(({ kind }) => kind === 2).find((span) => valuesOf(span)["llmgw.attempts"] === 2);
  expect(whole).toMatchObject({ name: "POST /v1/chat/completions", traceId: TRACE, parentSpanId: PARENT });
  const tries = all.filter(({ parentSpanId }) => parentSpanId === whole?.spanId);
  expect(tries.map(({ name, status }) => [name, status.code ?? 0])).toEqual([
    ["chat m", 2],
    ["chat m", 0],
  ]);
  const [, last] = tries;
  expect(last === undefined ? {} : valuesOf(last)).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 3,
    "gen_ai.usage.cache_read.input_tokens": 4,
    "server.port": good.port,
    "llmgw.replica": "m-1",
  });
  expect(good.requests.at(-1)?.head).toContain(`traceparent: 00-${TRACE}-${String(last?.spanId)}-01\r\n`);
  expect(good.requests.at(-1)?.head).not.toContain(PARENT);
  expect(sent.join("")).not.toContain(PROMPT);
});

test("a stream says when its first token came; a client's wish not to be recorded is kept", async () => {
  harness = await RouterHarness.start({ env: process.env });
  const event = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
  const engine = harness.adopt(
    await RawUpstream.answering(
      `${STREAM_HEAD}${String(chunk(event))}${String(chunk("data: [DONE]\n\n"))}${LAST_CHUNK}`,
    ),
  );
  await harness.serve({ m: [engine] });
  const ask = { model: "m", stream: true, messages: [] };
  await (await harness.post(ask)).text();
  await (await harness.post(ask, { headers: { traceparent: `00-${TRACE}-${PARENT}-00` } })).text();
  const all = await spans();
  expect(all.map(({ kind }) => kind).toSorted()).toEqual([2, 3]);
  expect(all.some(({ traceId }) => traceId === TRACE)).toBe(false);
  const engineSpan = all.find(({ kind }) => kind === 3);
  expect(engineSpan === undefined ? {} : valuesOf(engineSpan)).toMatchObject({
    "gen_ai.request.stream": true,
    "gen_ai.response.time_to_first_chunk": expect.any(Number) as number,
  });
});
