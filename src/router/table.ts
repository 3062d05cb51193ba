import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { messageOf } from "../core/errors.ts";
import { millis, type Millis } from "../core/ids.ts";
import type { KeySet } from "../core/client-key.ts";
import type { RouteTable } from "../core/route.ts";
import type { Clock } from "../platform/clock.ts";
import { pause } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import {
  RouterService,
  type RouterSessionRequest,
  RouterSessionRequestSchema,
} from "../wire/gen/llmgw/v1/router_pb.js";
import type { SessionPart } from "./session-part.ts";
import { keySetFromWire } from "../wire/keys.ts";
import { routeTableFromWire } from "../wire/routes.ts";

/** What a session needs of the fleet. */
interface TableHolder {
  readonly revision: number | undefined;
  /** Counts up with everything that a report would tell. */
  readonly changes: number;
  update(table: RouteTable): void;
  inFlight(): Readonly<Record<string, number>>;
}

export interface TableClientOptions {
  readonly transport: Transport;
  readonly holder: TableHolder;
  readonly keys: { update(set: KeySet): void };
  readonly routerId: string;
  /** Router processes that ended before this one, in the same folder. */
  readonly ended?: readonly string[];
  /** What else is told and heard, in the order in which it is to be told. */
  readonly parts?: readonly SessionPart[];
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const REPORT_EVERY: Millis = millis(1_000);
const FIRST_DELAY: Millis = millis(200);
/** A router lives long without a control plane; more often than this would only be noise at its start. */
const LONGEST_DELAY: Millis = millis(5_000);

/**
 * Keeps the session with the control plane: takes route tables, reports what is in flight. While the stream is away the
 * last table stays in force.
 */
export class TableClient {
  readonly #options: TableClientOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: TableClientOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random, logger } = this.#options;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      const tables = await this.#session().catch((error: unknown) => {
        if (!this.#stopping.signal.aborted) {
          logger.warn({ reason: messageOf(error) }, "no session with the control plane; routes stay as they are");
        }
        return 0;
      });
      failures = tables > 0 ? 1 : failures + 1;
      // Routers that lost the same control plane do not come back to it at the same moment.
      const full = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (failures - 1));
      await pause(clock, millis(full / 2 + (full / 2) * random()), signal);
    }
  }

  /** One stream, from hello to its end. Answers how many tables it brought. */
  async #session(): Promise<number> {
    const { transport, holder, logger, parts = [] } = this.#options;
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, this.#stopping.signal]);
    const mailbox = new Mailbox();
    let tables = 0;
    for (const part of parts) part.opened(mailbox.wake.bind(mailbox));
    try {
      const client = createClient(RouterService, transport);
      for await (const { body } of client.session(this.#outgoing(mailbox, signal), { signal })) {
        for (const part of parts) part.heard(body);
        if (body.case === "keys") this.#options.keys.update(keySetFromWire(body.value));
        if (body.case !== "table") continue;
        tables += 1;
        holder.update(routeTableFromWire(body.value));
        logger.debug({ revision: holder.revision }, "routes");
        mailbox.wake();
      }
      return tables;
    } finally {
      for (const part of parts) part.closed();
      ending.abort();
      mailbox.wake();
    }
  }

  /** Hello, then a report at each change of the table, and each second what is new of that and of the other parts. */
  async *#outgoing(mailbox: Mailbox, signal: AbortSignal): AsyncGenerator<RouterSessionRequest> {
    const { routerId, ended = [], holder, clock, parts = [] } = this.#options;
    yield request({ case: "hello", value: { routerId, ended: [...ended] } });
    let toldChanges = -1;
    while (!signal.aborted) {
      const inFlight = holder.inFlight();
      if (holder.revision !== undefined && (holder.changes !== toldChanges || Object.keys(inFlight).length > 0)) {
        toldChanges = holder.changes;
        yield request({ case: "report", value: { tableRevision: holder.revision, inFlight: { ...inFlight } } });
      }
      for (const part of parts) {
        for (let said = part.next(); said !== undefined; said = part.next()) yield request(said);
      }
      await Promise.race([mailbox.woken(), pause(clock, REPORT_EVERY, signal)]);
    }
  }
}

const request = (
  body: NonNullable<MessageInitShape<typeof RouterSessionRequestSchema>["body"]>,
): RouterSessionRequest => create(RouterSessionRequestSchema, { body });

/** Lets the sending half of a session sleep until the receiving half has something for it. */
class Mailbox {
  #hasMail = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#hasMail = true;
    this.#resolve?.();
  }

  async woken(): Promise<void> {
    if (!this.#hasMail) await new Promise<void>((resolve) => (this.#resolve = resolve));
    this.#hasMail = false;
    this.#resolve = undefined;
  }
}
