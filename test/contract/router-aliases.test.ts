import { afterEach, describe, expect, test } from "vitest";
import { json, RawUpstream } from "../fakes/raw-upstream.ts";
import { RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const answering = async (): Promise<RawUpstream> => harness.adopt(await RawUpstream.answering(json('{"ok":true}')));

/** Each a conversation of its own. */
async function ask(count: number, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  for (let index = 0; index < count; index++) {
    const answer = await harness.post({
      messages: [{ role: "user", content: `${String(index)}?` }],
      ...more,
      model: "chat",
    });
    expect(answer.status).toBe(200);
    await answer.text();
  }
}

test("an alias' requests are shared by weight; a conversation stays where it began; each engine hears its own name", async () => {
  harness = await RouterHarness.start();
  const [big, small] = [await answering(), await answering()];
  harness.aliases = {
    chat: {
      targets: [
        { model: "big", weight: 3 },
        { model: "small", weight: 1 },
      ],
      fallback: [],
    },
  };
  await harness.serve({ big: [big], small: [small] });

  await ask(200);
  expect(big.requests.length + small.requests.length).toBe(200);
  // Three of four, and four standard deviations of 200 draws beside it.
  expect(Math.abs(big.requests.length - 150)).toBeLessThan(25);
  const bodies = [...big.requests, ...small.requests].map(({ body }) => String(body));
  expect(big.requests.every(({ body }) => String(body).includes('"model":"big"'))).toBe(true);
  expect(small.requests.every(({ body }) => String(body).includes('"model":"small"'))).toBe(true);
  expect(bodies.some((body) => body.includes('"chat"'))).toBe(false);

  const before = [big.requests.length, small.requests.length];
  const messages = [{ role: "user", content: "always the same" }];
  await ask(10, { messages });
  const grown = [big.requests.length - (before[0] ?? 0), small.requests.length - (before[1] ?? 0)];
  expect(grown.toSorted((a, b) => a - b)).toEqual([0, 10]);
});

test("only the name in the body is another, also where a stream is made to count", async () => {
  harness = await RouterHarness.start();
  const big = await answering();
  harness.aliases = { chat: { targets: [{ model: "org/big", weight: 1 }], fallback: [] } };
  await harness.serve({ "org/big": [big] });
  await (await harness.post('{ "stream":true, "model" : "ch\\u0061t", "x": "chat" }')).text();
  await (await harness.post('{"model":"chat","stream":false,"messages":[]}')).text();
  expect(big.requests.map(({ body }) => String(body))).toEqual([
    '{ "stream":true, "model" : "org/big", "x": "chat" ,"stream_options":{"include_usage":true}}',
    '{"model":"org/big","stream":false,"messages":[]}',
  ]);
});

test("who cannot answer leaves it to the others, then to the fallbacks in their order; the numbers are the alias' own", async () => {
  harness = await RouterHarness.start();
  const [spare, last] = [await answering(), await answering()];
  harness.aliases = {
    chat: { targets: [{ model: "big", weight: 1 }], fallback: ["gone", "spare", "last"] },
    nowhere: { targets: [{ model: "big", weight: 1 }], fallback: [] },
  };
  await harness.serve({ big: [], spare: [spare], last: [last] });
  await ask(5);
  expect([spare.requests.length, last.requests.length]).toEqual([5, 0]);
  expect(await harness.metric('llmgw_router_requests_total{model="chat",code="200"}')).toBe(5);

  const refused = await harness.post({ model: "nowhere", messages: [] });
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain("big");
  const { data } = (await (await fetch(`${harness.url}/v1/models`)).json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(["big", "chat", "last", "nowhere", "spare"]);
});

describe("a target that fails a request before the client has anything of it", () => {
  const status = (line: string): string => `HTTP/1.1 ${line}\r\nContent-Length: 2\r\n\r\n{}`;
  const targets = [{ model: "big", weight: 1 }];

  test.each([
    ["that breaks off", "", 200, 2],
    ["that is too busy", status("503 Service Unavailable"), 200, 2],
    ["that answers with garbage", "SSH-2.0\r\n", 200, 2],
    ["but not that does not like the request", status("400 Bad Request"), 400, 1],
  ])("leaves it to the next: one %s", async (_, bytes, want, attempts) => {
    harness = await RouterHarness.start();
    const big = await harness.upstream(async (connection) => {
      await connection.request();
      connection.end(bytes);
    });
    const spare = await answering();
    harness.aliases = { chat: { targets, fallback: ["big", "spare"] } };
    await harness.serve({ big: [big], spare: [spare] });
    const answer = await harness.post({ model: "chat", messages: [] });
    expect([answer.status, answer.headers.get("x-llmgw-attempts")]).toEqual([want, String(attempts)]);
    await answer.text();
    await harness.idle();
    expect(spare.requests.map(({ body }) => JSON.parse(String(body)) as unknown)).toEqual(
      want === 200 ? [{ model: "spare", messages: [] }] : [],
    );
    expect(await harness.metric('llmgw_router_requests_total{model="chat",code="200"}')).toBe(want === 200 ? 1 : 0);
  });

  test("and when nobody is left it is told what went wrong last", async () => {
    harness = await RouterHarness.start();
    const [big, spare] = [await answering(), await answering()];
    await Promise.all([big.stop(), spare.stop()]);
    harness.aliases = { chat: { targets, fallback: ["spare", "gone"] } };
    await harness.serve({ big: [big], spare: [spare] });
    const answer = await harness.post({ model: "chat", messages: [] });
    expect([answer.status, await answer.text()]).toEqual([502, expect.stringContaining("spare-0: ECONNREFUSED")]);
  });

  test("a target that says that it is too busy says so to the client when there is no other", async () => {
    harness = await RouterHarness.start();
    const big = harness.adopt(await RawUpstream.answering(status("429 Too Many Requests")));
    harness.aliases = { chat: { targets, fallback: ["gone"] } };
    await harness.serve({ big: [big] });
    expect((await harness.post({ model: "chat", messages: [] })).status).toBe(429);
  });
});
