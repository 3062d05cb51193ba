import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import type { KeySet } from "../../src/core/client-key.ts";
import type { RouteTable } from "../../src/core/route.ts";
import {
  RouterService,
  type RouterSessionRequest,
  RouterSessionRequestSchema,
} from "../../src/wire/gen/llmgw/v1/router_pb.js";
import { keySetFromWire } from "../../src/wire/keys.ts";
import { routeTableFromWire } from "../../src/wire/routes.ts";

/** A client of RouterService that reports what a test tells it to report. It routes nothing. */
export class ScriptedRouter {
  table: RouteTable | undefined;
  keys: KeySet | undefined;
  failure: unknown;
  readonly ended: Promise<void>;
  readonly #outgoing: RouterSessionRequest[] = [];
  readonly #abort = new AbortController();
  #wake: (() => void) | undefined;

  constructor(transport: Transport, id: string, headers: Readonly<Record<string, string>> = {}) {
    this.#say({ case: "hello", value: { routerId: id } });
    this.ended = this.#run(transport, headers);
  }

  /** Under the table that it has, or another revision. */
  report(inFlight: Readonly<Record<string, number>>, tableRevision = this.table?.revision ?? 0): void {
    this.#say({ case: "report", value: { tableRevision, inFlight: { ...inFlight } } });
  }

  /** Under the table that it has: so many wait for the profiles, and nothing is in flight. */
  waits(waiting: Readonly<Record<string, number>>): void {
    const tableRevision = this.table?.revision ?? 0;
    this.#say({ case: "report", value: { tableRevision, inFlight: {}, waiting: { ...waiting } } });
  }

  routesOf(model: string): readonly string[] {
    return this.table?.models.find(({ name }) => name === model)?.replicas.map(({ id }) => id) ?? [];
  }

  async drop(): Promise<void> {
    this.#abort.abort();
    this.#wake?.();
    await this.ended;
  }

  #say(body: NonNullable<MessageInitShape<typeof RouterSessionRequestSchema>["body"]>): void {
    this.#outgoing.push(create(RouterSessionRequestSchema, { body }));
    this.#wake?.();
  }

  async #run(transport: Transport, headers: Readonly<Record<string, string>>): Promise<void> {
    try {
      const { signal } = this.#abort;
      for await (const { body } of createClient(RouterService, transport).session(this.#requests(), {
        signal,
        headers,
      })) {
        if (body.case === "table") this.table = routeTableFromWire(body.value);
        else if (body.case === "keys") this.keys = keySetFromWire(body.value);
      }
    } catch (error) {
      this.failure = error;
    }
  }

  async *#requests(): AsyncGenerator<RouterSessionRequest> {
    while (!this.#abort.signal.aborted) {
      const next = this.#outgoing.shift();
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
