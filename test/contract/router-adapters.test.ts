import { createHash } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import type { AdapterCall } from "../../src/core/adapter.ts";
import { NO_LIMITS } from "../../src/core/client-key.ts";
import type { EngineApi } from "../../src/core/engine-api.ts";
import { bytes, profileName } from "../../src/core/ids.ts";
import { freePort } from "../e2e/cluster.ts";
import { json, RawUpstream } from "../fakes/raw-upstream.ts";
import { ReadingEngine } from "../fakes/reading-engine.ts";
import { RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

const engines: ReadingEngine[] = [];

afterEach(async () => {
  await harness.idle();
  await harness.stop();
  await Promise.all(engines.splice(0).map((engine) => engine.stop()));
});

const CHAT = '{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}';

/** An engine that serves `big` and, called so, its adapter. */
async function serve(call: AdapterCall, apis?: readonly EngineApi[]): Promise<RawUpstream> {
  harness = await RouterHarness.start();
  if (apis !== undefined) harness.apis = apis;
  const engine = harness.adopt(await RawUpstream.answering(json(CHAT)));
  await harness.serve({ salty: [engine] }, { parent: "big", calls: { "salty-0": call } });
  return engine;
}

const bodyOf = (engine: RawUpstream): string => String(engine.requests[0]?.body);

const SECRET = "sk-llmgw-0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const NO_LORA = { lora: '[{"id":0,"scale":0}]' };
const LORA = { lora: '[{"id":0,"scale":1}]' };

describe("an adapter is asked for", () => {
  test("by the engine's name for it, and every other byte stays", async () => {
    const engine = await serve({ model: "big:salty", fields: {} });
    await harness.post('{ "x": 1.0, "model" : "s\\u0061lty" ,"messages":[] }');
    expect(bodyOf(engine)).toBe('{ "x": 1.0, "model" : "big:salty" ,"messages":[] }');
  });

  test("by a field at the body's end, so that what the client has put there counts no more", async () => {
    const engine = await serve({ fields: LORA });
    await harness.post('{"lora":[{"id":7,"scale":1}], "model":"salty" }\n');
    expect(bodyOf(engine)).toBe('{"lora":[{"id":7,"scale":1}], "model":"salty" ,"lora":[{"id":0,"scale":1}]}\n');
  });

  test("beside the counts that a stream is asked for", async () => {
    const engine = await serve({ model: "big:salty", fields: LORA });
    await harness.post('{"model":"salty","stream":true}');
    expect(JSON.parse(bodyOf(engine))).toEqual({
      ...{ model: "big:salty", stream: true, stream_options: { include_usage: true } },
      lora: [{ id: 0, scale: 1 }],
    });
  });

  test("in a body that is passed on while it comes", async () => {
    harness = await RouterHarness.start({ limits: { keptBodyBytes: bytes(1024) } });
    const engine = await ReadingEngine.start();
    engines.push(engine);
    await harness.serve({ salty: [engine.port] }, { parent: "big", calls: { "salty-0": { fields: LORA } } });
    const body = `{"model":"salty","prompt":"${"x".repeat(1024 * 1024)}","lora":[]}`;
    await harness.post(body, { path: "/v1/completions" });
    expect(engine.requests[0]?.text.slice(-60)).toMatch(/x","lora":\[\],"lora":\[\{"id":0,"scale":1\}\]\}$/);
  });

  test("and where the one with it cannot be reached, another without it is not asked in its words", async () => {
    harness = await RouterHarness.start({ limits: { keptBodyBytes: bytes(1024) } });
    const engine = await ReadingEngine.start();
    engines.push(engine);
    const gone = await freePort();
    await harness.serve({ salty: [gone, engine.port] }, { parent: "big", calls: { "salty-0": { fields: LORA } } });
    // Each user's conversations have a replica of their own: one of these users has the one that is gone.
    for (let user = 0; user < 20; user++) {
      const body = `{"model":"salty","user":"u${String(user)}","prompt":"${"x".repeat(1024 * 1024)}"}`;
      const answer = await harness.post(body, { path: "/v1/completions" });
      expect(engine.requests.at(-1)?.text.slice(-20)).toBe(`${"x".repeat(18)}"}`);
      if (answer.headers.get("x-llmgw-attempts") === "2") return;
    }
    expect.unreachable("nobody was sent to the replica that is gone");
  });

  test("in other words where the engine's own forget it", async () => {
    const engine = await serve({ apis: ["chat"], fields: LORA }, ["chat", "messages", "embeddings"]);
    const body = { model: "salty", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
    const answer = await harness.post(body, { path: "/v1/messages" });
    expect(await answer.json()).toMatchObject({ type: "message", content: [{ text: "Hi" }] });
    expect(engine.requests[0]?.head).toMatch(/^POST \/v1\/chat\/completions /);
    expect(JSON.parse(bodyOf(engine))).toMatchObject({ model: "salty", lora: [{ id: 0, scale: 1 }] });
    const none = await harness.post({ model: "salty", input: "Hi" }, { path: "/v1/embeddings" });
    expect([none.status, engine.requests.length]).toEqual([404, 1]);
  });
});

test("a key that is for the adapter opens nothing else, and usage is counted by its name", async () => {
  harness = await RouterHarness.start({ auth: "keys" });
  const engine = harness.adopt(await RawUpstream.answering(json(CHAT)));
  const sha256 = createHash("sha256").update(SECRET).digest("hex");
  harness.source.pushKeys([
    { id: "k", name: "app", sha256, models: ["salty"], limits: NO_LIMITS, expiresAt: undefined },
  ]);
  await harness.serve(
    { salty: [engine], big: [engine] },
    { profile: profileName("big"), calls: { "salty-0": { fields: LORA }, "big-0": { fields: NO_LORA } } },
  );
  const ask = (model: string) =>
    harness.post({ model, messages: [] }, { headers: { authorization: `Bearer ${SECRET}` } });
  expect((await ask("salty")).status).toBe(200);
  expect((await ask("big")).status).toBe(403);
  expect(engine.requests).toHaveLength(1);
  expect(await harness.logged({ code: 200 })).toMatchObject({ key: "app", model: "salty" });
});

test("who asks for the model itself gets none of its adapters by a field of the engine's", async () => {
  const engine = await serve({ fields: NO_LORA });
  await harness.post({ model: "salty", lora: [{ id: 0, scale: 1 }] });
  expect(JSON.parse(bodyOf(engine))).toEqual({ model: "salty", lora: [{ id: 0, scale: 0 }] });
});

test("an alias leads to it, and the engine is asked for it as if nobody had another name for it", async () => {
  harness = await RouterHarness.start();
  const engine = harness.adopt(await RawUpstream.answering(json(CHAT)));
  harness.aliases = { fast: { targets: [{ model: "salty", weight: 1 }], fallback: [] } };
  await harness.serve({ salty: [engine] }, { calls: { "salty-0": { model: "big:salty", fields: LORA } } });
  await harness.post('{"model":"fast","x":1}');
  expect(bodyOf(engine)).toBe('{"model":"big:salty","x":1,"lora":[{"id":0,"scale":1}]}');
});

test("it is listed beside its model", async () => {
  await serve({ fields: {} });
  const listed = await fetch(`${harness.url}/v1/models/salty`);
  expect(await listed.json()).toMatchObject({ id: "salty", parent: "big" });
});
