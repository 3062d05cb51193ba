import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { until } from "../e2e/wait.ts";
import { cut } from "../fakes/cut.ts";
import { counts, dies, DONE, dyingEngines, type EngineOptions, ends, event } from "../fakes/dying-engines.ts";
import { finish, type Part, role, say } from "../fakes/dying-engines.ts";
import { post as rawPost, RawClient } from "../fakes/raw-client.ts";
import { chunk, json, STREAM_HEAD, type UpstreamConnection } from "../fakes/raw-upstream.ts";
import type { RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const ASK = { model: "m", stream: true, temperature: 0, max_tokens: 9, messages: [{ role: "user", content: "hi" }] };

/** What the engines are asked, in turn. */
async function engines(parts: readonly Part[], options: EngineOptions = {}) {
  const site = await dyingEngines(parts, options);
  harness = site.harness;
  return site.bodies;
}

const post = async (ask: object = ASK, path?: string): Promise<string> =>
  (await harness.post(ask, path === undefined ? {} : { path })).text();

interface Chunk {
  readonly id: string;
  readonly model: string;
  readonly choices: readonly { readonly delta?: { readonly role?: string; readonly content?: string | null } }[];
}

const chunksOf = (text: string): readonly Chunk[] =>
  [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json ?? "") as Chunk);
const textOf = (text: string): string =>
  chunksOf(text)
    .flatMap(({ choices }) => choices.map(({ delta }) => delta?.content ?? ""))
    .join("");

describe("a stream whose engine dies goes on at another", () => {
  test("as one answer: the same identity, one role, no letter twice, counted once", async () => {
    const bodies = await engines([
      dies(role("a"), say("a", "Hello"), say("a", ", wor")),
      ends(role("b"), say("b", "ld"), say("b", "!"), finish("b"), counts("b", 12, 3), DONE),
    ]);
    const text = await post({ ...ASK, stream_options: { include_usage: true } });
    expect(textOf(text)).toBe("Hello, world!");
    expect(text.endsWith(DONE)).toBe(true);
    expect(new Set(chunksOf(text).map(({ id, model }) => `${id} ${model}`))).toEqual(new Set(["id-a a"]));
    expect(text.match(/"role"/g)).toHaveLength(1);
    expect(text).toContain('"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}');
    expect(bodies[1]).toMatchObject({
      max_tokens: 7,
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: "Hello, wor" },
      ],
    });
    const line = await harness.logged({ model: "m" });
    expect(line).toMatchObject({
      attempts: 2,
      code: 200,
      outcome: "complete",
      prompt_tokens: 10,
      completion_tokens: 5,
    });
    expect(harness.logs.filter(({ msg }) => msg === "request")).toHaveLength(1);
    expect(await harness.metric('llmgw_router_retries_total{reason="broke"}')).toBe(1);
    expect(await harness.metric('llmgw_router_streams_cut_total{reason="broke"}')).toBe(0);
  });

  test("half an event and half a character reach nobody", async () => {
    const cut = Buffer.from(say("a", "北京"));
    await engines([
      async (connection) => {
        await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk(role("a") + say("a", "in "))]));
        await connection.write(chunk(cut.subarray(0, cut.indexOf("京") + 1)));
        connection.end();
      },
      ends(role("b"), say("b", " 北京"), finish("b"), DONE),
    ]);
    const text = await post();
    expect(textOf(text)).toBe("in 北京");
    expect(text).not.toContain("�");
  });

  test("twice", async () => {
    const bodies = await engines([
      dies(role("a"), say("a", "one ")),
      dies(role("b"), say("b", " two ")),
      ends(role("c"), say("c", " three"), finish("c"), counts("c", 13, 1), DONE),
    ]);
    expect(textOf(await post())).toBe("one two three");
    expect(bodies[2]).toMatchObject({ max_tokens: 7, messages: [{}, { content: "one two" }] });
    expect(await harness.logged({ model: "m" })).toMatchObject({
      attempts: 3,
      prompt_tokens: 11,
      completion_tokens: 3,
    });
  });

  test("completions go on from prompt and text", async () => {
    const say = (text: string, reason: string | null = null): string =>
      `data: ${JSON.stringify({ choices: [{ text, index: 0, logprobs: null, finish_reason: reason }], id: "x" })}\n\n`;
    const bodies = await engines([dies(say(" is"), say(" Paris")), ends(say("."), say("", "stop"), DONE)]);
    const text = await post({ model: "m", stream: true, prompt: "The capital" }, "/v1/completions");
    expect([...text.matchAll(/"text":"([^"]*)"/g)].map(([, part]) => part).join("")).toBe(" is Paris.");
    expect(bodies[1]).toMatchObject({ prompt: "The capital is Paris" });
  });

  test("engines that go on only when asked are asked", async () => {
    const bodies = await engines([dies(say("a", "x")), ends(say("b", "y"), finish("b"), DONE)], {
      apis: ["chat", "continues-when-asked"],
    });
    expect(textOf(await post())).toBe("xy");
    expect(bodies[1]).toMatchObject({ continue_final_message: true, add_generation_prompt: false });
  });

  test("Messages that are asked as chat go on too", async () => {
    await engines([
      dies(role("a"), say("a", "Hello")),
      ends(role("b"), say("b", " you"), finish("b"), counts("b", 12, 1), DONE),
    ]);
    const text = await post({ ...ASK, max_tokens: 9 }, "/v1/messages");
    expect([...text.matchAll(/"text_delta","text":"([^"]*)"/g)].map(([, part]) => part).join("")).toBe("Hello you");
    expect(text.match(/event: message_start/g)).toHaveLength(1);
    expect(text).toContain("event: message_stop");
    expect(text).not.toContain("event: error");
  });

  test("before any text was said even what could not be gone on with is asked anew", async () => {
    const bodies = await engines([dies(role("a")), ends(role("b"), say("b", "{}"), finish("b"), DONE)]);
    expect(textOf(await post({ ...ASK, response_format: { type: "json_object" } }))).toBe("{}");
    expect(bodies[1]).toEqual(bodies[0]);
  });
});

describe("a stream that is kept for a rescue", () => {
  test("brings the client the engine's bytes, whatever pieces they come in", async () => {
    let pieces: readonly Buffer[] = [];
    const part: Part = async (connection) => {
      await connection.write(STREAM_HEAD);
      for (const piece of pieces) await connection.write(chunk(piece));
      // A trailer is read over.
      await connection.write("0\r\nx-t: 1\r\n\r\n");
    };
    await engines(Array.from({ length: 100 }, () => part));
    const line = fc.constantFrom(
      ...[say("a", "北京🌍"), ": waiting\n\n", ": waiting\n", "data: \r\n\r\n", "event: x\rdata: 1\r\r", "data: half"],
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 5 }),
        fc.array(fc.nat({ max: 400 }), { maxLength: 4 }),
        async (lines, cuts) => {
          const whole = Buffer.from(lines.join("") + finish("a"));
          pieces = cut(whole, cuts).filter(({ length }) => length > 0);
          const response = await harness.post(ASK);
          expect(Buffer.from(await response.arrayBuffer()).equals(whole)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("is cancelled at whoever is to go on when its client leaves, and shows until then that it lives", async () => {
    let open: UpstreamConnection | undefined;
    await engines(
      [
        dies(role("a"), say("a", "Half")),
        async (connection) => {
          open = connection;
          await connection.closed;
        },
      ],
      { limits: { streamComment: millis(40) } },
    );
    const client = await RawClient.connect(harness.url);
    client.send(rawPost(JSON.stringify(ASK)));
    await client.waitFor("Half");
    await client.waitFor(": waiting\n");
    client.close();
    await until("the engine's request gone", () => open?.isClosed === true);
    expect(await harness.logged({ outcome: "client_gone" })).toMatchObject({ code: 499, attempts: 2 });
  });
});

describe("it ends with an error event, and no [DONE],", () => {
  const HALF = [role("a"), say("a", "Half")];
  const call = event("a", { delta: { tool_calls: [{ index: 0, function: { arguments: '{"a' } }] } });

  test.each<{ name: string; ask?: object; first?: readonly string[]; options?: object; says: string }>([
    { name: "when rescue is off", options: { rescues: false }, says: "closed in the middle" },
    { name: "when nothing is known of the engine", options: { apis: ["chat"] }, says: "closed in the middle" },
    { name: "inside a tool's call", first: [...HALF, call], says: "its tool_calls had begun" },
    {
      name: "inside a thought",
      first: [event("a", { delta: { reasoning_content: "hm" } })],
      says: "reasoning_content",
    },
    { name: "with several answers", ask: { n: 2 }, says: "several answers" },
    { name: "with a seed", ask: { temperature: 1, seed: 7 }, says: "seed" },
    { name: "with probabilities", ask: { logprobs: true }, says: "probabilities" },
    { name: "with a form", ask: { response_format: { type: "json_object" } }, says: "form" },
    { name: "with a call that must come", ask: { tool_choice: "required" }, says: "a call of a tool" },
    { name: "inside a stop sequence", ask: { stop: ["x", "lfy"] }, says: "a stop sequence had begun" },
  ])("$name", async ({ ask, first = HALF, options, says }) => {
    const bodies = await engines([dies(...first)], options);
    const text = await post({ ...ASK, ...ask });
    expect(text.startsWith(first.join(""))).toBe(true);
    expect(text).toMatch(/data: \{"error":\{.*\}\}\n\n$/);
    expect(text).not.toContain("[DONE]");
    expect(bodies).toHaveLength(1);
    const line = await harness.logged({ outcome: "broke" });
    expect(line["detail"]).toContain(says);
    expect(line).toMatchObject({ code: 502, attempts: 1 });
  });

  test("when whoever is to go on refuses", async () => {
    const refuses: Part = (connection) => connection.write("HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\n{}");
    await engines([dies(...HALF), refuses, refuses, (connection) => connection.write(json("{}"))]);
    const text = await post();
    expect(text).toContain("another would not go on with it");
    expect(await harness.logged({ outcome: "unwilling" })).toMatchObject({ code: 502, attempts: 3 });
    // Refusing is no fault of a replica: it gets the next request.
    expect((await harness.post({ ...ASK, stream: false })).status).toBe(200);
  });
});
