import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isNodeName, millis } from "../core/ids.ts";
import { HelloSchema, type SessionRequest, SessionRequestSchema } from "./gen/llmgw/v1/agent_pb.js";
import { type AgentSession, endedOnPurpose, lookAtSession, newSession, onAgentMessage } from "./session.ts";

type Body = NonNullable<MessageInitShape<typeof SessionRequestSchema>["body"]>;

interface HelloChange {
  readonly nodeId?: string;
  readonly instanceId?: string;
  readonly heartbeatIntervalMs?: number;
}

const message = (body: Body): SessionRequest => create(SessionRequestSchema, { body });
const hello = (change: HelloChange = {}): SessionRequest =>
  message({
    case: "hello",
    value: create(HelloSchema, {
      nodeId: "gpu01",
      instanceId: "i1",
      inventory: { hostname: "gpu01" },
      observed: { revision: 3, replicas: [{ id: "r1", state: { case: "stopped", value: {} } }] },
      heartbeatIntervalMs: 1_000,
      ...change,
    }),
  });
const heartbeat = message({ case: "heartbeat", value: { sequence: 9 } });
const goodbye = message({ case: "goodbye", value: { reason: "SIGTERM" } });

const fresh = newSession(millis(0));
const open = onAgentMessage(fresh, hello(), millis(100)).session;
const left = onAgentMessage(open, goodbye, millis(200)).session;

describe("hello", () => {
  test("opens the session and hands over what the node says", () => {
    const { session, outcome } = onAgentMessage(fresh, hello(), millis(100));
    expect(session).toMatchObject({ kind: "open", node: "gpu01", instance: "i1" });
    expect(outcome).toMatchObject({
      kind: "joined",
      node: "gpu01",
      instance: "i1",
      inventory: { hostname: "gpu01" },
      observed: { revision: 3, replicas: [{ id: "r1", state: { kind: "stopped" } }] },
    });
  });

  test("without observed states nothing is known of the node, which is not the same as nothing runs", () => {
    const bare = create(HelloSchema, { nodeId: "gpu01", instanceId: "i1", inventory: {} });
    const { outcome } = onAgentMessage(fresh, message({ case: "hello", value: bare }), millis(0));
    expect(outcome).toMatchObject({ kind: "joined", observed: undefined });
  });

  test.each([
    { said: 0, interval: 5_000 },
    { said: 1, interval: 250 },
    { said: 250, interval: 250 },
    { said: 5_000, interval: 5_000 },
    { said: 300_000, interval: 300_000 },
  ])("a heartbeat interval of $said ms counts as $interval ms", ({ said, interval }) => {
    const { session } = onAgentMessage(fresh, hello({ heartbeatIntervalMs: said }), millis(0));
    expect(session).toMatchObject({ contact: { interval } });
  });
});

const bare = create(HelloSchema, { nodeId: "gpu01", instanceId: "i1" });
const refusals: readonly { name: string; session: AgentSession; message: SessionRequest; says: string }[] = [
  { name: "a heartbeat before hello", session: fresh, message: heartbeat, says: "must be hello" },
  { name: "a goodbye before hello", session: fresh, message: goodbye, says: "must be hello" },
  {
    name: "an empty message before hello",
    session: fresh,
    message: create(SessionRequestSchema),
    says: "must be hello",
  },
  { name: "a second hello", session: open, message: hello(), says: "second hello" },
  { name: "hello after goodbye", session: left, message: hello(), says: "open a new stream" },
  { name: "no instance id", session: fresh, message: hello({ instanceId: "" }), says: "instance id" },
  { name: "no inventory", session: fresh, message: message({ case: "hello", value: bare }), says: "inventory" },
  {
    name: "a heartbeat every 10 minutes",
    session: fresh,
    message: hello({ heartbeatIntervalMs: 600_000 }),
    says: "heartbeat_interval is 10m, and at most 5m is allowed",
  },
  { name: "no node id", session: fresh, message: hello({ nodeId: "" }), says: 'the node id "" cannot be used' },
  { name: "a path as node id", session: fresh, message: hello({ nodeId: "../etc" }), says: "letters, digits" },
];

describe("refused with a reason, and nothing is learned", () => {
  test.each(refusals)("$name", ({ session, message: sent, says }) => {
    const step = onAgentMessage(session, sent, millis(500));
    expect(step.outcome).toMatchObject({ kind: "refused", reason: expect.stringContaining(says) as string });
    expect(step.session).toBe(session);
  });

  test("a long node id is shown short", () => {
    const { outcome } = onAgentMessage(fresh, hello({ nodeId: "x".repeat(5_000) }), millis(0));
    expect(JSON.stringify(outcome).length).toBeLessThan(300);
  });
});

describe("node names", () => {
  const good = ["a", "gpu01", "gpu-01.rack_2.example", "10.0.0.7", "A".repeat(253)];
  const bad = ["", ".", "..", "-x", "_x", "a b", "a/b", "a\n", "gpü", "a".repeat(254), "x\u0000"];
  test.each(good)("%j is one", (name) => {
    expect(isNodeName(name)).toBe(true);
  });
  test.each(bad)("%j is none", (name) => {
    expect(isNodeName(name)).toBe(false);
  });
});

describe("an open session", () => {
  const bodies: readonly { body: Body; outcome: object }[] = [
    { body: { case: "heartbeat", value: { sequence: 9 } }, outcome: { kind: "heartbeat", sequence: 9 } },
    {
      body: { case: "inventory", value: { hostname: "other" } },
      outcome: { kind: "inventory", inventory: { hostname: "other" } },
    },
    { body: { case: "observed", value: { revision: 4 } }, outcome: { kind: "observed", observed: { revision: 4 } } },
    {
      body: { case: "logChunk", value: { requestId: 2, lines: ["a"], done: true } },
      outcome: { kind: "log", chunk: { requestId: 2, lines: ["a"], done: true } },
    },
    { body: { case: undefined }, outcome: { kind: "ignored" } },
  ];
  test.each(bodies)("hears $body.case", ({ body, outcome }) => {
    const step = onAgentMessage(open, message(body), millis(777));
    expect(step.outcome).toMatchObject(outcome);
    expect(step.session).toMatchObject({ kind: "open", contact: { lastHeard: 777 } });
  });
});

describe("the end of a stream", () => {
  test("after goodbye it was meant", () => {
    const step = onAgentMessage(open, goodbye, millis(200));
    expect(step.outcome).toEqual({ kind: "left", reason: "SIGTERM" });
    expect(step.session).toEqual({ kind: "left", node: "gpu01", reason: "SIGTERM" });
    expect(endedOnPurpose(step.session)).toBe(true);
  });

  test.each([
    { name: "without goodbye", session: open },
    { name: "before hello", session: fresh },
  ])("$name the connection was lost", ({ session }) => {
    expect(endedOnPurpose(session)).toBe(false);
  });

  test("what comes after goodbye is not listened to", () => {
    expect(onAgentMessage(left, heartbeat, millis(300))).toEqual({ session: left, outcome: { kind: "ignored" } });
  });
});

describe("B44 the server looks for silence too", () => {
  const looks: readonly { name: string; session: AgentSession; at: readonly number[]; halfOpen: boolean }[] = [
    { name: "heartbeats are due", session: open, at: [600, 1_100, 2_000], halfOpen: false },
    { name: "two intervals without one", session: open, at: [1_100, 2_100], halfOpen: true },
    { name: "no hello yet", session: fresh, at: [5_000, 9_999], halfOpen: false },
    { name: "no hello after 10 s", session: fresh, at: [5_000, 10_000], halfOpen: true },
    { name: "an agent that said goodbye", session: left, at: [5_000, 10_000], halfOpen: false },
  ];
  test.each(looks)("$name", ({ session, at, halfOpen }) => {
    let look = { session, halfOpen: false };
    for (const now of at) look = lookAtSession(look.session, millis(now));
    expect(look.halfOpen).toBe(halfOpen);
  });
});

test("no bytes that protobuf accepts make the session throw, and only hello and goodbye move it on", () => {
  const noise = fc.uint8Array({ maxLength: 120 });
  // A body of a known case, so that most of what is tried is accepted.
  const framed = fc.tuple(fc.integer({ min: 1, max: 6 }), noise).map(([field, inner]) => {
    return Uint8Array.from([(field << 3) | 2, inner.length, ...inner]);
  });
  fc.assert(
    fc.property(fc.oneof(noise, framed), fc.constantFrom(fresh, open, left), (bytes, session) => {
      let sent: SessionRequest;
      try {
        sent = fromBinary(SessionRequestSchema, bytes);
      } catch {
        return;
      }
      const step = onAgentMessage(session, sent, millis(500));
      if (step.session.kind !== session.kind) expect(["joined", "left"]).toContain(step.outcome.kind);
    }),
    { numRuns: 3_000 },
  );
});
