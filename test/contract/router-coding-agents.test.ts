import { afterEach, describe, expect, test } from "vitest";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import { RouterHarness } from "../fakes/router-harness.ts";
import { type Version, VersionClient } from "../fakes/versions-client.ts";
import { CODING_AGENT as MESSAGES_AGENT } from "../fixtures/wire/coding-agent-messages.ts";
import { CODING_AGENT as RESPONSES_AGENT } from "../fixtures/wire/coding-agent-responses.ts";

// What coding agents ask in one session, in their order and with their headers, of engines that have their APIs.

let harness: RouterHarness;
let client: VersionClient;

afterEach(async () => {
  client.close();
  await harness.idle();
  await harness.stop();
});

const MESSAGE_EVENTS = [
  'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}\n\n',
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}\n\n',
  'event: message_stop\ndata: {"type":"message_stop"}\n\n',
].join("");
const RESPONSE_EVENTS = [
  'event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n',
  'event: response.completed\ndata: {"type":"response.completed","sequence_number":1,"response":{"usage":{"input_tokens":9,"output_tokens":3}}}\n\n',
].join("");

const streaming = (events: string): string => STREAM_HEAD + chunk(events).toString() + LAST_CHUNK;

/** Three replicas that answer as engines do which speak all of it. */
async function start(version: Version): Promise<readonly RawUpstream[]> {
  harness = await RouterHarness.start();
  harness.apis = ["chat", "messages", "messages-count", "responses"];
  const engines = await Promise.all(
    [0, 1, 2].map(async () => {
      const engine = await RawUpstream.answering(({ head }) => {
        if (head.startsWith("POST /v1/messages/count_tokens")) return json('{"input_tokens":9}');
        return streaming(head.startsWith("POST /v1/messages") ? MESSAGE_EVENTS : RESPONSE_EVENTS);
      });
      return harness.adopt(engine);
    }),
  );
  await harness.serve({ "claude-local": engines, local: engines });
  client = new VersionClient(version, harness.url);
  return engines;
}

describe.each<Version>(["HTTP/1.1", "HTTP/2"])("over %s", (version) => {
  test("a session with Messages: probe, models, counts, turns that stay at one engine", async () => {
    const engines = await start(version);
    const key = { authorization: "Bearer sk-mine", "x-api-key": "sk-mine" };
    const own = {
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
      "anthropic-dangerous-direct-browser-access": "true",
      "user-agent": "claude-cli/2.1.181 (external, cli)",
      "x-app": "cli",
      "x-stainless-retry-count": "0",
      "x-stainless-timeout": "600",
      "x-claude-code-session-id": "b6d0e8f4-session",
    };
    const headers = { ...own, ...key };
    expect((await client.ask({ method: "HEAD", path: "/" }).ended()).status).toBe(404);
    const models = await client.ask({ method: "GET", path: "/v1/models?limit=1000", headers }).ended();
    expect(models.json).toMatchObject({ data: [{ id: "claude-local", display_name: "claude-local" }, {}] });

    const { messages, tools } = MESSAGES_AGENT[0]?.request ?? {};
    const count = JSON.stringify({ model: "claude-local", messages, tools });
    const counts = await client.ask({ path: "/v1/messages/count_tokens?beta=true", headers, body: count }).ended();
    expect(counts.json).toEqual({ input_tokens: 9 });

    for (const { request } of MESSAGES_AGENT) {
      const body = JSON.stringify({ ...request, model: "claude-local" });
      const turn = await client.ask({ path: "/v1/messages?beta=true", headers, body }).ended();
      expect([turn.status, turn.text]).toEqual([200, MESSAGE_EVENTS]);
      expect(turn.headers).toHaveProperty("request-id");
    }
    const turns = engines.map(({ requests }) =>
      requests.filter(({ head }) => head.startsWith("POST /v1/messages?beta=true HTTP/1.1")),
    );
    const those = turns.find(({ length }) => length > 0) ?? [];
    expect(turns.flat()).toHaveLength(MESSAGES_AGENT.length);
    expect(those).toHaveLength(MESSAGES_AGENT.length);
    for (const [index, { head, body }] of those.entries()) {
      for (const [name, value] of Object.entries(own))
        expect(head.toLowerCase()).toContain(`${name}: ${value}`.toLowerCase());
      expect(head).not.toContain("sk-mine");
      expect(body.toString()).toBe(JSON.stringify({ ...MESSAGES_AGENT[index]?.request, model: "claude-local" }));
    }
  });

  test("a session with Responses: 4 KB of attestation, turns that stay at one engine", async () => {
    const engines = await start(version);
    const headers = {
      authorization: "Bearer sk-mine",
      accept: "text/event-stream",
      originator: "codex_cli_rs",
      "user-agent": "codex_cli_rs/0.98.0 (Debian 12; x86_64) xterm",
      session_id: "0190-conversation",
      "x-client-request-id": "0190-conversation",
      "x-oai-attestation": "v1.".padEnd(4_096, "a"),
    };
    for (const { request } of RESPONSES_AGENT) {
      const body = JSON.stringify({ ...request, model: "local" });
      const turn = await client.ask({ path: "/v1/responses", headers, body }).ended();
      expect([turn.status, turn.text]).toEqual([200, RESPONSE_EVENTS]);
    }
    const turns = engines.map(({ requests }) => requests.length).filter((count) => count > 0);
    expect(turns).toEqual([RESPONSES_AGENT.length]);
    const asked = engines.flatMap(({ requests }) => requests);
    expect(asked.map(({ body }) => body.toString())).toEqual(
      RESPONSES_AGENT.map(({ request }) => JSON.stringify({ ...request, model: "local" })),
    );
    for (const { head } of asked) {
      expect(head).toMatch(/\r\nx-oai-attestation: v1\.a{4093}(?:\r\n|$)/i);
      expect(head).not.toContain("sk-mine");
    }
    expect(await harness.logged({ path: "/v1/responses" })).toMatchObject({ client_request_id: "0190-conversation" });
    const stored = await client.ask({ method: "GET", path: "/v1/responses/resp_1", headers }).ended();
    expect([stored.status, stored.json]).toMatchObject([404, { error: { code: "unknown_url" } }]);
  });
});
