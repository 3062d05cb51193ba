import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { formatDuration } from "../core/format.ts";
import { millis, type Millis } from "../core/ids.ts";
import type { KeySet } from "../core/client-key.ts";
import type { RouteTable } from "../core/route.ts";
import type { Clock } from "../platform/clock.ts";
import { pause } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import {
  type RouteTable as WireRouteTable,
  RouterService,
  type RouterSessionRequest,
  RouterSessionRequestSchema,
} from "../wire/gen/llmgw/v1/router_pb.js";
import type { ControlLine, ControlPlanes } from "./control-line.ts";
import type { Heard, SessionPart } from "./session-part.ts";
import { keySetFromWire } from "../wire/keys.ts";
import { withRouteChanges } from "../wire/route-changes.ts";
import { routeTableFromWire } from "../wire/routes.ts";

/** What a session needs of the fleet. */
interface TableHolder {
  readonly revision: number | undefined;
  /** Counts up with everything that a report would tell. */
  readonly changes: number;
  update(table: RouteTable): void;
  inFlight(): Readonly<Record<string, number>>;
  /** Requests that wait, by profile. */
  waiting(): Readonly<Record<string, number>>;
  /** Set while there is a session: called when a report is worth being sent at once. */
  onColdWait: () => void;
}

export interface TableClientOptions {
  readonly control: ControlPlanes;
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
/** The same complaint of the same control plane. */
const SAME_AGAIN: Millis = millis(60_000);

/** How a session ended, or why there was none. */
interface End {
  readonly server: string;
  readonly tables: number;
  readonly reason: string;
}

/**
 * Keeps the session with the control plane: takes route tables, reports what is in flight. While the stream is away the
 * last table stays in force.
 */
export class TableClient {
  readonly #options: TableClientOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** What was said of each control plane that is away. */
  readonly #told = new Map<string, { readonly reason: string; readonly at: Millis }>();

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
    const { clock, random, control } = this.#options;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      const end = await this.#connect();
      failures = end.tables > 0 ? 1 : failures + 1;
      // The wait grows with each round over all of them. Routers that lost the same control plane do not come back at one moment.
      const round = Math.floor((failures - 1) / control.count);
      const full = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** round);
      const delay = millis(full / 2 + (full / 2) * random());
      if (!this.#isStopping()) this.#complain(end, delay);
      await pause(clock, delay, signal);
    }
  }

  #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #connect(): Promise<End> {
    const { control } = this.#options;
    const end = { server: "", tables: 0, reason: "the control plane ended the session" };
    let line: ControlLine | undefined;
    try {
      line = await control.dial();
      end.server = line.server;
      await this.#session(line, () => {
        if (end.tables === 0) this.#tellConnected(line?.server ?? "");
        end.tables += 1;
      });
    } catch (error) {
      end.reason = control.explain(error);
    } finally {
      line?.close();
    }
    return end;
  }

  #tellConnected(server: string): void {
    this.#told.delete(server);
    if (server !== "") this.#options.logger.info({ server }, `connected to the control plane ${server}`);
  }

  /** A control plane that stays away is told of once a minute, and again when another reason keeps the router from it. */
  #complain({ server, reason, tables }: End, delay: Millis): void {
    const { clock, logger } = this.#options;
    const now = clock.monotonic();
    const told = this.#told.get(server);
    if (tables === 0 && told?.reason === reason && now - told.at < SAME_AGAIN) return;
    this.#told.set(server, { reason, at: now });
    const away = server === "" ? "the control plane" : `the control plane ${server}`;
    const again = formatDuration(delay);
    logger.warn(
      { reason, server },
      `no session with ${away}: ${reason}; routes and keys stay as they are, next try in ${again}`,
    );
  }

  /** One stream, from hello to its end. Calls back with each table that it brings. */
  async #session(line: ControlLine, onTable: () => void): Promise<void> {
    const { parts = [] } = this.#options;
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, this.#stopping.signal]);
    const mailbox = new Mailbox();
    let table: WireRouteTable | undefined;
    this.#options.holder.onColdWait = mailbox.wake.bind(mailbox);
    try {
      const client = createClient(RouterService, line.transport);
      for await (const { body: said } of client.session(this.#outgoing(mailbox, signal), { signal })) {
        const body = wholeTable(said, table);
        // Before its first word it is not known whether it takes this router at all.
        if (!mailbox.isAnswered) for (const part of parts) part.opened(mailbox.wake.bind(mailbox));
        mailbox.isAnswered = true;
        for (const part of parts) part.heard(body);
        if (body.case === "keys") this.#options.keys.update(keySetFromWire(body.value));
        if (body.case === "table") {
          table = body.value;
          this.#take(table);
          onTable();
          mailbox.knowsTable = true;
        }
        mailbox.wake();
      }
    } finally {
      if (mailbox.isAnswered) for (const part of parts) part.closed();
      ending.abort();
      mailbox.wake();
    }
  }

  #take(table: WireRouteTable): void {
    const { holder, logger } = this.#options;
    holder.update(routeTableFromWire(table));
    logger.debug({ revision: holder.revision }, "routes");
  }

  /** Hello, then a report at each change of the table, and each second what is new of that and of the other parts. */
  async *#outgoing(mailbox: Mailbox, signal: AbortSignal): AsyncGenerator<RouterSessionRequest> {
    const { routerId, ended = [], clock, parts = [] } = this.#options;
    yield request({ case: "hello", value: { routerId, ended: [...ended], takesChanges: true } });
    const told = { changes: -1 };
    while (!signal.aborted) {
      // A table of another stream, or from disk, has a number that may mean another table here.
      const report = mailbox.knowsTable ? this.#report(told) : undefined;
      if (report !== undefined) yield report;
      for (const part of mailbox.isAnswered ? parts : []) {
        for (let said = part.next(); said !== undefined; said = part.next()) yield request(said);
      }
      await Promise.race([mailbox.woken(), pause(clock, REPORT_EVERY, signal)]);
    }
  }

  /** Undefined: there is nothing to tell that was not told. */
  #report(told: { changes: number }): RouterSessionRequest | undefined {
    const { holder } = this.#options;
    const counts = { inFlight: { ...holder.inFlight() }, waiting: { ...holder.waiting() } };
    const isBusy = Object.keys(counts.inFlight).length + Object.keys(counts.waiting).length > 0;
    if (holder.revision === undefined || (holder.changes === told.changes && !isBusy)) return undefined;
    told.changes = holder.changes;
    return request({ case: "report", value: { tableRevision: holder.revision, ...counts } });
  }
}

/** Whoever listens hears of whole tables only. Throws when the changes are to a table that this stream has not brought. */
function wholeTable(body: Heard, table: WireRouteTable | undefined): Heard {
  if (body.case !== "changes") return body;
  const value = table === undefined ? undefined : withRouteChanges(table, body.value);
  if (value === undefined) throw new Error("the control plane told of changes to routes that it had not sent");
  return { case: "table", value };
}

const request = (
  body: NonNullable<MessageInitShape<typeof RouterSessionRequestSchema>["body"]>,
): RouterSessionRequest => create(RouterSessionRequestSchema, { body });

/** Lets the sending half of a session sleep until the receiving half has something for it. */
class Mailbox {
  /** Something has come on this stream. */
  isAnswered = false;
  /** A table has. */
  knowsTable = false;
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
