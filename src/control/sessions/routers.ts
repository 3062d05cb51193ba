import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { KeySet } from "../../core/client-key.ts";
import { messageOf } from "../../core/errors.ts";
import { type Millis, type ProfileName, profileName, type ReplicaId, replicaId } from "../../core/ids.ts";
import type { RouteTable } from "../../core/route.ts";
import type { Clock } from "../../platform/clock.ts";
import type { RouterReport } from "../../reconcile/drain.ts";
import {
  type RouterHello,
  type RouterReport as WireRouterReport,
  type RouterSessionRequest,
  type RouterSessionResponse,
  RouterSessionResponseSchema,
} from "../../wire/gen/llmgw/v1/router_pb.js";
import type { StoredKey } from "../../store/store.ts";
import { keySetToWire } from "../../wire/keys.ts";
import { routeChanges } from "../../wire/route-changes.ts";
import { routeTableToWire } from "../../wire/routes.ts";
import { keySetOf } from "../keys/key-set.ts";
import { Outbox } from "../outbox.ts";
import type { RouterLine, RouterPart } from "./router-part.ts";

interface Entry {
  readonly line: RouterLine;
  readonly takesChanges: boolean;
  /** The last table of this connection; undefined: none yet. */
  sent: RouteTable | undefined;
  outbox: Outbox<RouterSessionResponse> | undefined;
  /** Of the first table on this connection: reports of an older one are about another server's numbers. */
  firstSent: number;
  tableRevision: number;
  inFlight: ReadonlyMap<ReplicaId, number>;
  waiting: ReadonlyMap<ProfileName, number>;
  lastHeard: Millis;
}

/** Before its first report under one of our tables a router vouches for nothing. */
const NO_TABLE = -1;

/** The routers that are connected: tables and keys down, load up. */
export class Routers {
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #wake: () => void;
  /** A router whose stream broke goes on with the last table: it counts as there for so long. */
  readonly #goneAfter: () => Millis;
  readonly #parts: readonly RouterPart[];
  #table: RouteTable;
  #keys: KeySet;
  /** What `#keys` was made from. */
  #stored: readonly StoredKey[] = [];

  constructor(options: {
    readonly clock: Clock;
    readonly wake: () => void;
    readonly goneAfter: () => Millis;
    readonly table: RouteTable;
    readonly parts?: readonly RouterPart[];
  }) {
    this.#clock = options.clock;
    this.#wake = options.wake;
    this.#goneAfter = options.goneAfter;
    this.#parts = options.parts ?? [];
    this.#table = options.table;
    this.#keys = keySetOf(options.table.revision, []);
  }

  publish(table: RouteTable): void {
    if (table === this.#table) return;
    this.#table = table;
    for (const entry of this.#entries.values()) this.#sendTable(entry);
  }

  /** What differs from the table before, where the router takes that, is found out when it is sent: it may be slow to read. */
  #sendTable(entry: Entry): void {
    entry.outbox?.replaceBy("table", () => {
      const [before, now] = [entry.sent, this.#table];
      entry.sent = now;
      return before === undefined || !entry.takesChanges ? tableMessage(now) : changesMessage(before, now);
    });
  }

  publishKeys(stored: readonly StoredKey[]): void {
    if (stored === this.#stored) return;
    this.#stored = stored;
    this.#keys = keySetOf(this.#keys.revision + 1, stored);
    for (const { outbox } of this.#entries.values()) outbox?.replace("keys", keysMessage(this.#keys));
    for (const part of this.#parts) part.keysChanged(stored);
  }

  reports(): readonly RouterReport[] {
    const [now, goneAfter] = [this.#clock.monotonic(), this.#goneAfter()];
    for (const [id, { outbox, lastHeard }] of this.#entries) {
      if (outbox === undefined && now - lastHeard >= goneAfter) this.#entries.delete(id);
    }
    return [...this.#entries].map(([router, { tableRevision, inFlight, waiting }]) => {
      return { router, tableRevision, inFlight, waiting };
    });
  }

  /** Over all routers. */
  inFlight(replica: ReplicaId): number {
    return [...this.#entries.values()].reduce((sum, { inFlight }) => sum + (inFlight.get(replica) ?? 0), 0);
  }

  /** Serves one router's stream until either end closes it. */
  async *session(
    requests: AsyncIterable<RouterSessionRequest>,
    context: Pick<HandlerContext, "signal">,
  ): AsyncGenerator<RouterSessionResponse> {
    const outbox = new Outbox<RouterSessionResponse>();
    context.signal.addEventListener("abort", () => {
      outbox.end();
    });
    void this.#read(requests, outbox);
    try {
      yield* outbox;
    } finally {
      outbox.end();
      this.#closed(outbox);
    }
  }

  async #read(requests: AsyncIterable<RouterSessionRequest>, outbox: Outbox<RouterSessionResponse>): Promise<void> {
    let entry: Entry | undefined;
    try {
      for await (const { body } of requests) {
        if (outbox.hasEnded) return;
        if (body.case === "hello") entry = this.#open(body.value, outbox);
        else if (entry === undefined) throw new ConnectError("the first message must be hello", Code.InvalidArgument);
        else if (body.case === "report") this.#report(entry, body.value);
        else for (const part of this.#parts) part.heard(entry.line, body);
      }
      outbox.end();
    } catch (error) {
      outbox.end(error instanceof ConnectError ? error : new ConnectError(messageOf(error), Code.Aborted));
    }
  }

  #open(hello: RouterHello, outbox: Outbox<RouterSessionResponse>): Entry {
    const { routerId: id, ended } = hello;
    // Known to be gone: nothing waits there any more, though the end of its stream may not have come yet.
    for (const gone of ended) if (gone !== id) this.#drop(gone, "the router that opened it has ended");
    if (id === "") throw new ConnectError("hello without a router id", Code.InvalidArgument);
    const entry = this.#replace(hello, outbox);
    for (const part of this.#parts) part.opened(entry.line, hello);
    // First the keys: a router that has routes is asked at once.
    outbox.replace("keys", keysMessage(this.#keys));
    this.#sendTable(entry);
    this.#wake();
    return entry;
  }

  /** What the router was last said to have in flight stays until it says something else. */
  #replace({ routerId: id, takesChanges }: RouterHello, outbox: Outbox<RouterSessionResponse>): Entry {
    const before = this.#drop(id, "the same router has opened a newer connection");
    const entry: Entry = {
      line: lineOf(id, outbox),
      takesChanges,
      sent: undefined,
      outbox,
      firstSent: this.#table.revision,
      tableRevision: NO_TABLE,
      inFlight: before?.inFlight ?? new Map(),
      waiting: before?.waiting ?? new Map(),
      lastHeard: this.#clock.monotonic(),
    };
    this.#entries.set(id, entry);
    return entry;
  }

  /** Forgets a router and ends the stream that it has. Answers with what was known of it. */
  #drop(id: string, why: string): Entry | undefined {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    if (entry?.outbox === undefined) return entry;
    entry.outbox.end(new ConnectError(why, Code.Aborted));
    this.#lineClosed(entry.line);
    return entry;
  }

  #report(entry: Entry, { tableRevision, inFlight, waiting }: WireRouterReport): void {
    entry.lastHeard = this.#clock.monotonic();
    entry.inFlight = new Map(Object.entries(inFlight).map(([id, count]) => [replicaId(id), count]));
    entry.waiting = new Map(Object.entries(waiting).map(([name, count]) => [profileName(name), count]));
    const isOurs = tableRevision >= entry.firstSent && tableRevision <= this.#table.revision;
    if (isOurs) entry.tableRevision = tableRevision;
    this.#wake();
  }

  #closed(outbox: Outbox<RouterSessionResponse>): void {
    for (const entry of this.#entries.values()) {
      if (entry.outbox !== outbox) continue;
      entry.outbox = undefined;
      entry.lastHeard = this.#clock.monotonic();
      this.#lineClosed(entry.line);
      this.#wake();
    }
  }

  #lineClosed(line: RouterLine): void {
    for (const part of this.#parts) part.closed(line);
  }
}

const lineOf = (id: string, outbox: Outbox<RouterSessionResponse>): RouterLine => ({
  id,
  say: (body) => {
    outbox.push(create(RouterSessionResponseSchema, { body }));
  },
  fail: (reason) => {
    outbox.end(new ConnectError(reason, Code.Unavailable));
  },
});

const changesMessage = (before: RouteTable, now: RouteTable): RouterSessionResponse =>
  create(RouterSessionResponseSchema, { body: { case: "changes", value: routeChanges(before, now) } });

const tableMessage = (table: RouteTable): RouterSessionResponse =>
  create(RouterSessionResponseSchema, { body: { case: "table", value: routeTableToWire(table) } });

const keysMessage = (keys: KeySet): RouterSessionResponse =>
  create(RouterSessionResponseSchema, { body: { case: "keys", value: keySetToWire(keys) } });
