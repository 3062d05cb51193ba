import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import type { DesiredState } from "../core/desired.ts";
import { formatDuration } from "../core/format.ts";
import { type Millis, millis, type NodeId, type ReplicaId } from "../core/ids.ts";
import type { Inventory } from "../core/node.ts";
import type { ObservedState } from "../core/observed.ts";
import { assertNever } from "../core/result.ts";
import type { SharingPlan, SharingReport } from "../core/sharing.ts";
import type { Clock } from "../platform/clock.ts";
import { troubleWithServer, withOwnClock } from "../pki/tls-words.ts";
import { type Contact, heard, lookAt, newContact } from "../wire/contact.ts";
import { desiredFromWire } from "../wire/desired.ts";
import {
  AgentService,
  CertificateRequestSchema,
  GoodbyeSchema,
  HeartbeatSchema,
  HelloSchema,
  type SessionResponse,
} from "../wire/gen/llmgw/v1/agent_pb.js";
import { inventoryToWire } from "../wire/inventory.ts";
import { observedToWire } from "../wire/observed.ts";
import { sharingPlanFromWire, sharingReportToWire } from "../wire/sharing.ts";
import { LogRequests } from "./log-requests.ts";
import { Outbox } from "./outbox.ts";

/** How a stream came to its end. Nothing on the node changes by any of them. */
export type SessionEnd =
  /** This agent said goodbye. */
  | { readonly kind: "left" }
  /** This agent ended it to open another with new certificates. */
  | { readonly kind: "renewed" }
  | { readonly kind: "refused"; readonly reason: string; readonly heldFor: Millis }
  | { readonly kind: "lost"; readonly reason: string; readonly heldFor: Millis };

/** What the node says of itself and what it is told. */
export interface SessionNode {
  readonly id: NodeId;
  readonly instanceId: string;
  readonly heartbeatInterval: Millis;
  readonly inventory: () => Inventory;
  readonly observed: () => ObservedState;
  readonly logPathOf: (id: ReplicaId) => string | undefined;
  /** Lines of that log without what only routers may know. Left out: there is nothing of the kind in them. */
  readonly hideKey?: (id: ReplicaId, lines: readonly string[]) => readonly string[];
  readonly onDesired: (desired: DesiredState) => void;
  /** Weights that this node shares with others. Left out: it shares none. */
  readonly sharing?: SharingNode | undefined;
  /** A new certificate in PEM, or why there is none. */
  readonly onCertificate: (pem: string, error: string) => void;
}

interface SharingNode {
  report(): SharingReport;
  onPlan(plan: SharingPlan): void;
  /** The connection is gone, and with it what was said on it. */
  onLoss(): void;
}

interface SessionOptions {
  readonly transport: Transport;
  readonly node: SessionNode;
  /** The control plane accepted the node. */
  readonly onWelcome: (server: { readonly id: string; readonly version: string }) => void;
  readonly clock: Clock;
  /** Ends the session with a goodbye. */
  readonly signal: AbortSignal;
}

/** A quick control plane answers a goodbye at once; the engines do not depend on it. */
const GOODBYE_TIMEOUT = millis(2000);
/** A control plane takes a moment to find out whether another agent of the same id is really there. */
const WELCOME_PATIENCE = millis(5000);
/** Looks for silence in each heartbeat interval. */
const LOOKS_AN_INTERVAL = 4;

/** One stream, from hello to its end. */
export class Session {
  readonly #options: SessionOptions;
  readonly #outbox = new Outbox();
  readonly #logs: LogRequests;
  readonly #cut = new AbortController();
  #contact: Contact;
  /** Set when the stream was given up for want of a sign of life. */
  #silentFor: Millis | undefined;
  #welcomedAt: Millis | undefined;
  #sequence = 0;
  #isRenewing = false;
  #cancelCut: () => void = () => undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { clock, node } = options;
    this.#contact = newContact(node.heartbeatInterval, clock.monotonic());
    this.#logs = new LogRequests({
      outbox: this.#outbox,
      clock,
      logPathOf: node.logPathOf,
      hideKey: node.hideKey ?? ((_, lines) => lines),
    });
  }

  /** Ends the stream without a goodbye, so that the next one takes its place at once. */
  renew(): void {
    this.#isRenewing = true;
    this.#cut.abort();
  }

  requestCertificate(): void {
    this.#outbox.put({ case: "certificateRequest", value: create(CertificateRequestSchema) });
  }

  sendInventory(inventory: Inventory): void {
    this.#outbox.put({ case: "inventory", value: inventoryToWire(inventory) });
  }

  sendObserved(observed: ObservedState): void {
    this.#outbox.put({ case: "observed", value: observedToWire(observed) });
  }

  sendSharing(report: SharingReport): void {
    this.#outbox.put({ case: "sharing", value: sharingReportToWire(report) });
  }

  /** Resolves when the stream has ended, whatever ended it. */
  async run(): Promise<SessionEnd> {
    const { transport, signal } = this.#options;
    const stopTimers = this.#startTimers();
    const leave = (): void => {
      this.#leave();
    };
    signal.addEventListener("abort", leave);
    if (signal.aborted) this.#leave();
    try {
      this.#hello();
      const responses = createClient(AgentService, transport).session(this.#outbox, { signal: this.#cut.signal });
      for await (const response of responses) this.#hear(response);
      return this.#endOf(undefined);
    } catch (error) {
      return this.#endOf(ConnectError.from(error));
    } finally {
      stopTimers();
      this.#cancelCut();
      signal.removeEventListener("abort", leave);
      this.#logs.close();
      this.#outbox.close();
      this.#cut.abort();
    }
  }

  #hello(): void {
    const { node } = this.#options;
    const value = create(HelloSchema, {
      nodeId: node.id,
      instanceId: node.instanceId,
      inventory: inventoryToWire(node.inventory()),
      observed: observedToWire(node.observed()),
      heartbeatIntervalMs: node.heartbeatInterval,
    });
    this.#outbox.put({ case: "hello", value });
  }

  #leave(): void {
    this.#outbox.close({ case: "goodbye", value: create(GoodbyeSchema, { reason: "the agent stops" }) });
    this.#cancelCut = this.#options.clock.after(GOODBYE_TIMEOUT, () => {
      this.#cut.abort();
    });
  }

  #startTimers(): () => void {
    const { clock, node } = this.#options;
    const every = (delay: Millis, act: () => void): (() => void) => {
      let cancel = clock.after(delay, function again() {
        act();
        cancel = clock.after(delay, again);
      });
      return () => {
        cancel();
      };
    };
    const stopHeartbeat = every(node.heartbeatInterval, () => {
      this.#sequence += 1;
      this.#outbox.put({ case: "heartbeat", value: create(HeartbeatSchema, { sequence: this.#sequence }) });
    });
    const stopLooking = every(millis(node.heartbeatInterval / LOOKS_AN_INTERVAL), () => {
      this.#look();
    });
    return () => {
      stopHeartbeat();
      stopLooking();
    };
  }

  #look(): void {
    const now = this.#options.clock.monotonic();
    const { contact, halfOpen } = lookAt(this.#contact, now);
    this.#contact = contact;
    const waiting = this.#welcomedAt === undefined && now - contact.lastHeard < WELCOME_PATIENCE;
    if (!halfOpen || waiting) return;
    this.#silentFor = millis(now - contact.lastHeard);
    this.#cut.abort();
  }

  #hear({ body }: SessionResponse): void {
    const { clock, node } = this.#options;
    this.#contact = heard(this.#contact, clock.monotonic());
    switch (body.case) {
      case "welcome":
        this.#welcomedAt = clock.monotonic();
        this.#options.onWelcome({ id: body.value.serverId, version: body.value.serverVersion });
        return;
      case "desired":
        node.onDesired(desiredFromWire(body.value));
        return;
      case "logRequest":
        this.#logs.begin(body.value);
        return;
      case "sharing":
        node.sharing?.onPlan(sharingPlanFromWire(body.value));
        return;
      case "certificateAnswer":
        node.onCertificate(body.value.certificate, body.value.error);
        return;
      case "logCancel":
        this.#logs.cancel(body.value.requestId);
        return;
      // Whatever a newer server says besides is still a sign of life.
      case "heartbeatAck":
      case undefined:
        return;
      default:
        assertNever(body);
    }
  }

  #endOf(error: ConnectError | undefined): SessionEnd {
    const { clock, signal } = this.#options;
    if (signal.aborted) return { kind: "left" };
    if (this.#isRenewing) return { kind: "renewed" };
    const heldFor = this.#welcomedAt === undefined ? millis(0) : millis(clock.monotonic() - this.#welcomedAt);
    if (this.#silentFor !== undefined) {
      return { kind: "lost", reason: `nothing was heard of it for ${formatDuration(this.#silentFor)}`, heldFor };
    }
    if (error === undefined) return { kind: "lost", reason: "it closed the stream", heldFor };
    const reason = troubleWithServer(error, clock.now()) ?? withOwnClock(error.rawMessage, clock.now());
    return { kind: isRefusal(error.code) ? "refused" : "lost", reason, heldFor };
  }
}

const REFUSALS: readonly Code[] = [
  Code.InvalidArgument,
  Code.AlreadyExists,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.FailedPrecondition,
  Code.Unimplemented,
];

/** A no that was meant, which the next try would hear again. */
export const isRefusal = (code: Code): boolean => REFUSALS.includes(code);
