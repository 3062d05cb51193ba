// A process of its own: many simulated agents, each with a connection of its own to a control plane. They speak the real
// protocol and run nothing: what they are told to run they say is ready. Forked by fleet-server.ts, which talks to it.
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { Outbox } from "../src/agent/outbox.ts";
import type { DesiredState } from "../src/core/desired.ts";
import type { ObservedState } from "../src/core/observed.ts";
import { connectControl } from "../src/run/control-connection.ts";
import { desiredFromWire } from "../src/wire/desired.ts";
import { AgentService, HeartbeatSchema } from "../src/wire/gen/llmgw/v1/agent_pb.js";
import { inventoryToWire } from "../src/wire/inventory.ts";
import { observedToWire } from "../src/wire/observed.ts";
import { inventoryOf, nameOf } from "./fleet-cluster.ts";

/** What its parent asks for. */
export type FleetOrder =
  | { readonly kind: "join"; readonly server: string; readonly from: number; readonly count: number }
  /** For so long, so many agents a second tell of a change of their machine, one after another. */
  | { readonly kind: "news"; readonly agents: number; readonly ms: number };

/** How its agents are: how many are welcome, have lost their stream, and say of how many replicas that they are ready. */
export interface FleetState {
  readonly connected: number;
  readonly lost: number;
  readonly ready: number;
  readonly failure: string;
}

const HEARTBEAT_MS = 5_000;
/** Agents that connect at once, in each process. All of them at once is another matter than a fleet at rest. */
const JOINING = 8;

/** How long an agent waits after a lost stream, by chance. */
const AGAIN_MS = { least: 1_000, most: 10_000 };

interface SimulatedAgent {
  readonly number: number;
  outbox: Outbox;
  observed: ObservedState;
}

const agents: SimulatedAgent[] = [];
const state = { connected: 0, lost: 0, failure: "" };

async function runAgent(server: string, number: number, onWelcome: () => void): Promise<void> {
  const agent: SimulatedAgent = { number, outbox: new Outbox(), observed: { revision: 0, replicas: [] } };
  agents.push(agent);
  for (;;) {
    await openStream(server, agent, onWelcome);
    state.lost += 1;
    await sleep(AGAIN_MS.least + Math.random() * (AGAIN_MS.most - AGAIN_MS.least));
  }
}

/** From hello to the end of the stream. */
async function openStream(server: string, agent: SimulatedAgent, onWelcome: () => void): Promise<void> {
  const connection = connectControl(server, { material: {}, authorization: undefined });
  const outbox = new Outbox();
  agent.outbox = outbox;
  outbox.put({ case: "hello", value: helloOf(agent) });
  let stopBeats: (() => void) | undefined;
  try {
    for await (const { body } of createClient(AgentService, connection.transport).session(outbox)) {
      if (body.case === "welcome") {
        state.connected += 1;
        onWelcome();
        stopBeats = beat(outbox);
      } else if (body.case === "desired") {
        agent.observed = obey(desiredFromWire(body.value));
        outbox.put({ case: "observed", value: observedToWire(agent.observed) });
      }
    }
    state.failure = "a stream ended";
  } catch (error) {
    state.failure = String(error);
  }
  if (stopBeats !== undefined) state.connected -= 1;
  stopBeats?.();
  outbox.close();
  connection.close();
}

const helloOf = ({ number, observed }: SimulatedAgent) => ({
  ...{ nodeId: nameOf(number), instanceId: `${nameOf(number)}-1`, heartbeatIntervalMs: HEARTBEAT_MS },
  ...{ inventory: inventoryToWire(inventoryOf(number)), observed: observedToWire(observed) },
});

/** The returned function ends it. */
function beat(outbox: Outbox): () => void {
  let sequence = 0;
  const say = (): void => {
    sequence += 1;
    outbox.put({ case: "heartbeat", value: create(HeartbeatSchema, { sequence }) });
  };
  let timer: NodeJS.Timeout | undefined;
  // Wherever in the interval it joined, so that not all speak at once.
  const first = setTimeout(() => {
    timer = setInterval(say, HEARTBEAT_MS);
    say();
  }, Math.random() * HEARTBEAT_MS);
  return () => {
    clearTimeout(first);
    clearInterval(timer);
  };
}

const obey = ({ revision, replicas }: DesiredState): ObservedState => ({
  revision,
  replicas: replicas.map(({ id, profile, specHash }, at) => ({
    ...{ id, profile, specHash, restarts: 0, pid: 4711 },
    state: {
      kind: "ready",
      endpoint: { host: "127.0.0.1", port: 41_000 + at },
      ...{ slots: 8, context: 8192, engine: "llama.cpp b11669" },
    },
  })),
});

async function join({ server, from, count }: Extract<FleetOrder, { kind: "join" }>): Promise<void> {
  let next = from;
  const lane = async (): Promise<void> => {
    while (next < from + count) {
      const number = next;
      next += 1;
      await new Promise<void>((resolve) => {
        void runAgent(server, number, resolve);
      });
    }
  };
  await Promise.all(Array.from({ length: JOINING }, lane));
}

let told = 0;

async function tellNews(each: number, ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    const agent = agents[told % agents.length];
    told += 1;
    const inventory = inventoryOf(agent?.number ?? 0, told % 3);
    agent?.outbox.put({ case: "inventory", value: inventoryToWire(inventory) });
    await sleep(1_000 / each);
  }
}

process.on("message", (order: FleetOrder) => {
  void (order.kind === "join" ? join(order) : tellNews(order.agents, order.ms));
});
process.on("disconnect", () => process.exit(0));
setInterval(() => {
  const ready = agents.reduce((sum, { observed }) => sum + observed.replicas.length, 0);
  // The parent may be gone just now; its disconnect ends this process.
  process.send?.({ ...state, ready } satisfies FleetState, undefined, undefined, () => undefined);
}, 250);
