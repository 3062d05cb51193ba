import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import type { DesiredState } from "../../src/core/desired.ts";
import type { Inventory } from "../../src/core/node.ts";
import type { ObservedReplicaState, ObservedState } from "../../src/core/observed.ts";
import { desiredFromWire } from "../../src/wire/desired.ts";
import {
  AgentService,
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
} from "../../src/wire/gen/llmgw/v1/agent_pb.js";
import { inventoryToWire } from "../../src/wire/inventory.ts";
import { observedToWire } from "../../src/wire/observed.ts";
import { inventory } from "./values.ts";

type Body = NonNullable<MessageInitShape<typeof SessionRequestSchema>["body"]>;

export interface ScriptedAgentOptions {
  readonly node: string;
  readonly instance?: string;
  readonly inventory?: Partial<Inventory>;
  readonly heartbeatIntervalMs?: number;
  /** What its first word says of what runs there. Left out: it does not know yet. */
  readonly observed?: ObservedState;
}

/** A client of AgentService that says what a test tells it to say, and remembers what it was told. It runs nothing. */
export class ScriptedAgent {
  readonly received: SessionResponse[] = [];
  desired: DesiredState | undefined;
  /** Why the stream ended; undefined: it is open, or ended without an error. */
  failure: unknown;
  readonly ended: Promise<void>;
  readonly #outgoing: SessionRequest[] = [];
  readonly #abort = new AbortController();
  #wake: (() => void) | undefined;
  #isClosed = false;
  #beats: NodeJS.Timeout | undefined;

  constructor(
    transport: Transport,
    { node, instance = `${node}-1`, heartbeatIntervalMs = 1000, ...rest }: ScriptedAgentOptions,
  ) {
    const sheet = inventoryToWire(inventory({ hostname: node, ...rest.inventory }));
    const observed = rest.observed === undefined ? {} : { observed: observedToWire(rest.observed) };
    const hello = { nodeId: node, instanceId: instance, inventory: sheet, heartbeatIntervalMs, ...observed };
    this.say({ case: "hello", value: hello });
    this.ended = this.#run(transport);
  }

  say(body: Body): void {
    this.#outgoing.push(create(SessionRequestSchema, { body }));
    this.#wake?.();
  }

  beatEvery(milliseconds: number): this {
    let sequence = 0;
    this.#beats = setInterval(() => {
      sequence += 1;
      this.say({ case: "heartbeat", value: { sequence } });
    }, milliseconds);
    return this;
  }

  /** Every replica that it is to run, in the given state, under the newest revision. Left out by default: what it is not to run. */
  observe(state: (id: string) => ObservedReplicaState | undefined, more: readonly string[] = []): void {
    const { revision = 0, replicas = [] } = this.desired ?? {};
    const listed = replicas.flatMap(({ id, profile, specHash }) => {
      const seen = state(id);
      return seen === undefined ? [] : [{ id, profile, specHash, state: seen, restarts: 0, pid: 4711 }];
    });
    const kept = this.#known.filter(({ id }) => more.includes(id) && !listed.some((one) => one.id === id));
    this.#known = [...listed, ...kept];
    this.say({ case: "observed", value: observedToWire({ revision, replicas: this.#known }) });
  }

  #known: Parameters<typeof observedToWire>[0]["replicas"] = [];

  wants(id: string): boolean {
    return this.desired?.replicas.some((replica) => replica.id === id) ?? false;
  }

  /** The stream breaks, without a word. */
  async drop(): Promise<void> {
    this.#close();
    this.#abort.abort();
    await this.ended;
  }

  async goodbye(reason: string): Promise<void> {
    this.say({ case: "goodbye", value: { reason } });
    this.#close();
    await this.ended;
  }

  #close(): void {
    clearInterval(this.#beats);
    this.#isClosed = true;
    this.#wake?.();
  }

  async #run(transport: Transport): Promise<void> {
    try {
      const client = createClient(AgentService, transport);
      for await (const message of client.session(this.#requests(), { signal: this.#abort.signal })) {
        this.received.push(message);
        if (message.body.case === "desired") this.desired = desiredFromWire(message.body.value);
      }
    } catch (error) {
      this.failure = error;
    } finally {
      this.#close();
    }
  }

  async *#requests(): AsyncGenerator<SessionRequest> {
    for (;;) {
      const next = this.#outgoing.shift();
      if (next !== undefined) yield next;
      else if (this.#isClosed) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
