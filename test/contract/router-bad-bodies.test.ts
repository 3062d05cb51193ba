import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RawUpstream } from "../fakes/raw-upstream.ts";
import { RouterHarness } from "../fakes/router-harness.ts";
import { clientOf, tlsFor } from "../fakes/version-site.ts";
import type { Ask, Version, VersionClient } from "../fakes/versions-client.ts";

// What is wrong with a request: told in the right shape, logged once, and none of the engine's business.

interface Bad {
  readonly name: string;
  readonly ask: Ask;
  readonly status: number;
  readonly code: string | null;
}

describe.each<Version>(["HTTP/1.1", "HTTP/1.1 by Node", "HTTP/2 with TLS"])("over %s", (version) => {
  let harness: RouterHarness;
  let engine: RawUpstream;
  let client: VersionClient;
  let asked = 0;

  beforeAll(async () => {
    ({ harness, upstream: engine } = await RouterHarness.answering(tlsFor(version)));
    client = clientOf(version, harness.url);
  });

  afterAll(async () => {
    client.close();
    await harness.idle();
    await harness.stop();
  });

  const big = "x".repeat(1_500);
  test.each<Bad>([
    { name: "nothing", ask: { body: "" }, status: 400, code: null },
    { name: "no JSON", ask: { body: "{" }, status: 400, code: null },
    { name: "a list", ask: { body: '[{"model":"m"}]' }, status: 400, code: null },
    { name: "two objects", ask: { body: '{"model":"m"}{"model":"m"}' }, status: 400, code: null },
    { name: "a mark before the JSON", ask: { body: '\uFEFF{"model":"m"}' }, status: 400, code: null },
    { name: "deep JSON", ask: { body: `{"model":"m","x":${"[".repeat(100_000)}` }, status: 400, code: null },
    {
      name: "deep JSON that closes",
      ask: { body: `{"x":${'{"a":'.repeat(9_999)}1${"}".repeat(10_000)}` },
      status: 400,
      code: null,
    },
    { name: "a huge number of numbers", ask: { body: `{"x":[${"1,".repeat(1_000_000)}1]}` }, status: 400, code: null },
    { name: "no model", ask: { body: "{}" }, status: 400, code: null },
    { name: "a model below", ask: { body: '{"x":{"model":"m"},"messages":[{"model":"m"}]}' }, status: 400, code: null },
    { name: "a model in a string", ask: { body: '{"x":"\\",\\"model\\":\\"m"}' }, status: 400, code: null },
    { name: "a model of null", ask: { body: '{"model":null}' }, status: 400, code: null },
    { name: "a number", ask: { body: '{"model":1e3}' }, status: 400, code: null },
    { name: "a list of models", ask: { body: '{"model":["m"]}' }, status: 400, code: null },
    { name: "an empty model", ask: { body: '{"model":""}' }, status: 400, code: null },
    { name: "a model that is taken back", ask: { body: '{"model":"m","model":null}' }, status: 400, code: null },
    { name: "a byte of 0 in the model", ask: { body: '{"model":"m\0"}' }, status: 400, code: null },
    { name: "a line end in the model", ask: { body: '{"model":"m\n"}' }, status: 400, code: null },
    { name: "a name that no model has", ask: { body: `{"model":"${big}"}` }, status: 400, code: null },
    { name: "another model last", ask: { body: '{"model":"m","model":"none"}' }, status: 404, code: "model_not_found" },
    { name: "a space in the name", ask: { body: '{"model":" m"}' }, status: 404, code: "model_not_found" },
    { name: "an escaped NUL", ask: { body: '{"model":"m\\u0000"}' }, status: 404, code: "model_not_found" },
    { name: "half a character", ask: { body: '{"model":"m\\ud800"}' }, status: 404, code: "model_not_found" },
    {
      name: "bytes that are no text",
      ask: { body: Buffer.from('{"model":"m\xff\xfe"}', "latin1") },
      status: 404,
      code: "model_not_found",
    },
    { name: "a name out of an object", ask: { body: '{"model":"__proto__"}' }, status: 404, code: "model_not_found" },
    { name: "an unknown path", ask: { path: "/v1/none", body: "{}" }, status: 404, code: "unknown_url" },
    { name: "another method", ask: { method: "DELETE" }, status: 405, code: "method_not_allowed" },
    ...["application/xml", "multipart/form-data; boundary=x", "application/jsonx", "image/png"].map((type) => ({
      name: `a body of ${type}`,
      ask: { body: '{"model":"m"}', headers: { "content-type": type } },
      status: 415,
      code: "unsupported_content_type",
    })),
  ])("$name is $status, with one line in the log and nothing forwarded", async ({ ask, status, code }) => {
    const id = `bad-${String((asked += 1))}`;
    const call = await client.ask({ ...ask, headers: { "x-request-id": id, ...ask.headers } }).ended();
    expect([call.status, call.json, call.end]).toMatchObject([status, { error: { code } }, "whole"]);
    expect(call.text).not.toMatch(/ek-secret|127\.0\.0\.1|node:/);
    await harness.logged({ request_id: id });
    expect(harness.logs.filter((line) => line["request_id"] === id)).toHaveLength(1);
    expect(engine.requests).toHaveLength(0);
  });

  test.each([
    '{"m\\u006fdel":"m"}',
    '{"model":"\\u006d"}',
    '{"model":"none","x":{"model":"none"},"model":"m"}',
    '{"x":"\\ud800 \\u0000","model":"m"}',
    ' \r\n\t{"model" : "m"}\n',
  ])("%s is understood, and passed on as it is", async (body) => {
    expect((await client.ask({ body }).ended()).status).toBe(200);
    expect(engine.requests.pop()?.body.toString()).toBe(body);
  });
});
