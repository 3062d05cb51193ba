import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { DesiredState } from "../../core/desired.ts";
import { millis, type Millis, type NodeId } from "../../core/ids.ts";
import type { Inventory } from "../../core/node.ts";
import type { ObservedState } from "../../core/observed.ts";
import { sameValue } from "../../core/same-value.ts";
import type { SharingPlan, SharingReport } from "../../core/sharing.ts";
import { type Clock, pause } from "../../platform/clock.ts";
import { desiredToWire } from "../../wire/desired.ts";
import { type SessionResponse, SessionResponseSchema } from "../../wire/gen/llmgw/v1/agent_pb.js";
import { sharingPlanToWire } from "../../wire/sharing.ts";
import type { NodeHeard } from "../heard.ts";
import type { Outbox } from "../outbox.ts";
import { LogRequests, type LogWish } from "./log-requests.ts";

/** An agent that was killed and started again may be faster than the news that its old connection is gone. */
const CLAIM_PATIENCE = millis(2_000);
const CLAIM_LOOK = millis(50);

/** One open stream of an agent. */
export interface AgentStream {
  readonly node: NodeId;
  readonly instance: string;
  readonly outbox: Outbox<SessionResponse>;
}

interface Entry {
  stream: AgentStream | undefined;
  inventory: Inventory;
  observed: ObservedState | undefined;
  goodbye: string | undefined;
  lastHeard: Millis;
  lastSeen: Millis;
  sentRevision: number | undefined;
  /** Undefined: nothing was said of it on this stream. */
  sharing: SharingReport | undefined;
  /** What it was last told, to tell it nothing twice. */
  sentSharing: SharingPlan | undefined;
}

/** A connected node and the weights that it shares. */
export interface SharingNode {
  readonly id: NodeId;
  /** New at each start of the agent. */
  readonly instance: string;
  readonly address: string;
  readonly labels: Inventory["labels"];
  readonly report: SharingReport;
}

interface Claim extends AgentStream {
  readonly inventory: Inventory;
  readonly observed: ObservedState | undefined;
}

/** What every node has said, and the streams that are open. Tells the loop when something is new. */
export class Agents {
  readonly logs = new LogRequests();
  readonly #entries = new Map<NodeId, Entry>();
  readonly #clock: Clock;
  readonly #wake: () => void;
  readonly #silentAfter: () => Millis;
  readonly #sharingChanged: () => void;

  /** `silentAfter`: a stream that has said nothing for so long holds its node's name no longer. */
  constructor(options: {
    readonly clock: Clock;
    readonly wake: () => void;
    readonly silentAfter: () => Millis;
    /** A node has said what it shares, or is gone. */
    readonly sharingChanged?: () => void;
  }) {
    this.#clock = options.clock;
    this.#wake = options.wake;
    this.#silentAfter = options.silentAfter;
    this.#sharingChanged = options.sharingChanged ?? (() => undefined);
  }

  /**
   * Takes the node's name for the stream. The same agent on a new connection replaces its old one; another agent gets the
   * name only when the first is gone. Undefined when taken, else the inventory of the agent that holds it.
   */
  async claim(claim: Claim): Promise<Inventory | undefined> {
    const deadline = this.#clock.monotonic() + CLAIM_PATIENCE;
    while (this.#isHeldAgainst(claim) && !claim.outbox.hasEnded) {
      if (this.#clock.monotonic() >= deadline) return this.#entries.get(claim.node)?.inventory;
      await pause(this.#clock, CLAIM_LOOK);
    }
    // It left while it waited.
    if (claim.outbox.hasEnded) return undefined;
    const before = this.#entries.get(claim.node)?.stream;
    before?.outbox.end(new ConnectError("the same agent has opened a newer connection", Code.Aborted));
    const { inventory, observed } = claim;
    const times = { lastHeard: this.#clock.monotonic(), lastSeen: this.#clock.now() };
    this.#entries.set(claim.node, {
      ...times,
      stream: claim,
      inventory,
      observed,
      goodbye: undefined,
      sentRevision: undefined,
      sharing: undefined,
      sentSharing: undefined,
    });
    this.#wake();
    return undefined;
  }

  #isHeldAgainst({ node, instance }: Claim): boolean {
    const entry = this.#entries.get(node);
    if (entry?.stream === undefined || entry.stream.instance === instance) return false;
    return this.#clock.monotonic() - entry.lastHeard < this.#silentAfter();
  }

  /** Anything at all was received on the stream. */
  heard(stream: AgentStream, news: Partial<Pick<Entry, "inventory" | "observed" | "goodbye">> = {}): void {
    const entry = this.#entryOf(stream);
    if (entry === undefined) return;
    Object.assign(entry, news, { lastHeard: this.#clock.monotonic(), lastSeen: this.#clock.now() });
    if (Object.keys(news).length > 0) this.#wake();
  }

  heardSharing(stream: AgentStream, report: SharingReport): void {
    const entry = this.#entryOf(stream);
    if (entry === undefined) return;
    entry.sharing = report;
    this.#sharingChanged();
  }

  closed(stream: AgentStream): void {
    const entry = this.#entryOf(stream);
    if (entry === undefined) return;
    entry.stream = undefined;
    this.#sharingChanged();
    this.logs.streamEnded(stream.node);
    this.#wake();
  }

  /** A node that was removed by an operator; its open stream, if any, ends and may come back as a new node. */
  forget(node: NodeId): void {
    this.#entries
      .get(node)
      ?.stream?.outbox.end(new ConnectError("the node was removed from the cluster", Code.Aborted));
    this.#entries.delete(node);
  }

  gather(): ReadonlyMap<NodeId, NodeHeard> {
    return new Map(
      [...this.#entries].map(([id, { stream, inventory, observed, goodbye, lastHeard, lastSeen }]) => [
        id,
        { id, inventory, observed, goodbye, lastHeard, lastSeen, hasStream: stream !== undefined },
      ]),
    );
  }

  /** The nodes whose streams are open and that have said what they share. */
  gatherSharing(): readonly SharingNode[] {
    return [...this.#entries].flatMap(([id, { stream, inventory, sharing }]) => {
      if (stream === undefined || sharing === undefined) return [];
      const { address, labels } = inventory;
      return [{ id, instance: stream.instance, address, labels, report: sharing }];
    });
  }

  /** Tells a node what to fetch from whom, unless it was told just that. */
  publishSharing(node: NodeId, plan: SharingPlan): void {
    const entry = this.#entries.get(node);
    if (entry?.stream === undefined || sameValue(entry.sentSharing, plan)) return;
    entry.sentSharing = plan;
    const value = sharingPlanToWire(plan);
    entry.stream.outbox.replace("sharing", create(SessionResponseSchema, { body: { case: "sharing", value } }));
  }

  lastSeen(node: NodeId): Millis | undefined {
    return this.#entries.get(node)?.lastSeen;
  }

  /** Sends the node its desired state, unless it has it on this stream already. */
  publish(node: NodeId, revision: number, desired: () => DesiredState): void {
    const entry = this.#entries.get(node);
    if (entry?.stream === undefined || entry.sentRevision === revision) return;
    entry.sentRevision = revision;
    const value = desiredToWire(desired());
    entry.stream.outbox.replace("desired", create(SessionResponseSchema, { body: { case: "desired", value } }));
  }

  /** The replica's log from its node. Undefined: no agent is connected there. */
  readLog(node: NodeId, wish: LogWish, signal: AbortSignal): AsyncIterable<readonly string[]> | undefined {
    const stream = this.#entries.get(node)?.stream;
    if (stream === undefined) return undefined;
    const send = (message: SessionResponse): void => {
      stream.outbox.push(message);
    };
    return this.logs.read(node, wish, { send, signal });
  }

  /** Only the stream that holds the name may speak for the node. */
  #entryOf(stream: AgentStream): Entry | undefined {
    const entry = this.#entries.get(stream.node);
    return entry?.stream?.outbox === stream.outbox ? entry : undefined;
  }
}
