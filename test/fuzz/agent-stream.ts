import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { overSockets, type Site } from "../contract/site.ts";
import { until } from "../e2e/wait.ts";
import { ScriptedAgent } from "../fakes/scripted-agent.ts";
import { gpu, inventory } from "../fakes/values.ts";
import { SessionRequestSchema } from "../../src/wire/gen/llmgw/v1/agent_pb.js";
import { inventoryToWire } from "../../src/wire/inventory.ts";
import type { Chance } from "./chance.ts";
import { DATA, type Frame, framesOf, mutatedConnection, plainConnection } from "./http2-frames.ts";
import { mutatedBytes, mutatedValue } from "./mutate.ts";
import { exchange, recorded } from "./socket.ts";
import type { OpenTarget, Target } from "./target.ts";

type Body = NonNullable<MessageInitShape<typeof SessionRequestSchema>["body"]>;
/** A message before it has a schema, so that any part of it can be anything. */
type Loose = { readonly case: string; readonly value: unknown };

const sheet = inventoryToWire(inventory({ gpus: [gpu("GPU-1"), gpu("GPU-2")], labels: { rack: "r1" } }));

const ready = { case: "ready", value: { endpoint: { host: "127.0.0.1", port: 41_000 }, slots: 4, context: 4096 } };
const observed = {
  revision: 1,
  replicas: [{ id: "smol-abc", profile: "smol", specHash: "x", pid: 4711, restarts: 1, state: ready }],
};

const hello = (nodeId: string): Loose => ({
  case: "hello",
  value: { nodeId, instanceId: "i1", inventory: sheet, observed, heartbeatIntervalMs: 1000 },
});

const LATER: readonly Loose[] = [
  { case: "heartbeat", value: { sequence: 1 } },
  { case: "inventory", value: sheet },
  { case: "observed", value: observed },
  { case: "logChunk", value: { requestId: 1, lines: ["one", "two"], done: true } },
  { case: "certificateRequest", value: {} },
  { case: "goodbye", value: { reason: "the end" } },
];

/** Undefined: it is nothing that the schema can be brought to write. */
function written(body: Loose): Buffer | undefined {
  try {
    return Buffer.from(toBinary(SessionRequestSchema, create(SessionRequestSchema, { body: body as Body })));
  } catch {
    return undefined;
  }
}

/** As Connect puts messages on a stream: flags, length, message. */
function envelope(message: Uint8Array, flags = 0, length = message.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(length >>> 0, 1);
  return Buffer.concat([head, message]);
}

/** A few nodes only: each stays known. */
const nodeOf = (chance: Chance): string => `fuzz-${String(chance.below(8))}`;

function messages(chance: Chance): Buffer {
  const first = chance.is(0.8) ? [hello(nodeOf(chance))] : [];
  const rest = Array.from({ length: 1 + chance.below(5) }, () => chance.pick([...LATER, hello(nodeOf(chance))]));
  const [at, how] = [chance.below(rest.length), chance.random()];
  const bodies = [...first, ...rest.map((body, n) => (n === at ? changed(chance, body) : body))];
  const parts = bodies
    .flatMap((body) => written(body) ?? [])
    .map((message, n) => {
      if (how < 0.6 || n !== at) return envelope(message);
      if (how < 0.8) return envelope(mutatedBytes(chance, message));
      return envelope(message, chance.below(256), chance.is(0.5) ? message.length : chance.below(2 ** 32));
    });
  return Buffer.concat(parts);
}

function changed(chance: Chance, { case: name, value }: Loose): Loose {
  const next = mutatedValue(chance, value);
  // Another node's name would be another node, for good.
  const isHello = name === "hello" && typeof next === "object" && next !== null;
  return { case: name, value: isHello && chance.is(0.9) ? { ...next, nodeId: nodeOf(chance) } : next };
}

class AgentStreams implements OpenTarget {
  readonly #site: Site;
  readonly #port: number;
  readonly #good: ScriptedAgent;
  readonly #recorded: readonly Frame[];

  private constructor(site: Site, port: number, recordedFrames: readonly Frame[]) {
    this.#site = site;
    this.#port = port;
    this.#recorded = recordedFrames;
    this.#good = new ScriptedAgent(site.connect(), { node: "good" }).beatEvery(200);
  }

  static async open(): Promise<AgentStreams> {
    const site = await overSockets();
    await site.admin.apply({ manifest: "kind: Profile\nname: smol\nmodel: { source: hf:a/b }\n" });
    const port = Number(new URL(site.url ?? "").port);
    const sent = await recorded(port, recordAgent);
    const opened = new AgentStreams(site, port, framesOf(sent));
    await until("the good agent to be let in", () => opened.#good.received.length > 0);
    return opened;
  }

  async once(chance: Chance): Promise<void> {
    await exchange(this.#port, this.#pieces(chance));
  }

  #pieces(chance: Chance): readonly Buffer[] {
    const way = chance.random();
    if (way < 0.05) return [chance.bytes(1 + chance.length(20_000))];
    if (way < 0.35) return mutatedConnection(chance, this.#recorded);
    const data = messages(chance);
    const cut = chance.below(data.length + 1);
    const payloads = chance.is(0.5) ? [data] : [data.subarray(0, cut), data.subarray(cut)];
    const before = this.#recorded.filter(({ type }) => type !== DATA);
    const frames = payloads.map((payload) => ({
      type: DATA,
      flags: 0,
      stream: 1,
      payload: payload.subarray(0, 16_384),
    }));
    return mutated(chance, [...before, ...frames]);
  }

  async check(): Promise<void> {
    const { nodes } = await this.#site.admin.listNodes({ id: "good" });
    if (this.#good.failure !== undefined) throw this.#good.failure as Error;
    if (nodes[0]?.state !== "ready") throw new Error(`the good agent's node is ${nodes[0]?.state ?? "gone"}`);
    const health = await fetch(`${this.#site.url ?? ""}/readyz`);
    if (!health.ok) throw new Error(`/readyz answers ${String(health.status)}: ${await health.text()}`);
  }

  async close(): Promise<void> {
    await this.#good.drop();
    await this.#site.stop();
  }
}

/** Mostly the frames as they are: what they carry is what is tried. */
const mutated = (chance: Chance, frames: readonly Frame[]): readonly Buffer[] =>
  chance.is(0.1) ? mutatedConnection(chance, frames) : plainConnection(frames);

/** One whole visit of an agent: in, a few words, and out. */
async function recordAgent(port: number): Promise<void> {
  const baseUrl = `http://127.0.0.1:${String(port)}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  const agent = new ScriptedAgent(createConnectTransport({ httpVersion: "2", baseUrl, sessionManager }), {
    node: "fuzz-0",
  });
  await until("the agent to be let in", () => agent.desired !== undefined);
  agent.observe(() => ({
    kind: "ready",
    endpoint: { host: "127.0.0.1", port: 41_000 },
    slots: 4,
    context: 4096,
    engine: "x",
  }));
  agent.say({ case: "heartbeat", value: { sequence: 1 } });
  await until("an answer", () => agent.received.some(({ body }) => body.case === "heartbeatAck"));
  await agent.goodbye("recorded");
  sessionManager.abort();
}

/** The door for agents: HTTP/2, Connect's envelopes, protobuf, and the session behind them. */
export const agentStreamTarget: Target = { name: "agent stream", atOnce: 16, open: () => AgentStreams.open() };
