import { formatDuration } from "../core/format.ts";
import { isNodeName, type Millis, millis, type NodeId, nodeId } from "../core/ids.ts";
import type { Inventory } from "../core/node.ts";
import type { ObservedState } from "../core/observed.ts";
import { assertNever } from "../core/result.ts";
import type { SharingReport } from "../core/sharing.ts";
import { type Contact, heard, lookAt, newContact } from "./contact.ts";
import { type Hello, type LogChunk, type SessionRequest } from "./gen/llmgw/v1/agent_pb.js";
import { inventoryFromWire } from "./inventory.ts";
import { observedFromWire } from "./observed.ts";
import { sharingReportFromWire } from "./sharing.ts";

/** Oftener than this is taken as this: a server must not be made to watch a node by the millisecond. */
const LEAST_HEARTBEAT = millis(250);
/** A node that may be silent for longer could be away for a quarter of an hour before anyone is told. */
const MOST_HEARTBEAT = millis(5 * 60_000);
/** What a Hello means that does not say; also the default of the agent's configuration. */
const USUAL_HEARTBEAT = millis(5_000);

/** The server's end of an agent's stream. */
export type AgentSession =
  | { readonly kind: "awaitingHello"; readonly contact: Contact }
  | { readonly kind: "open"; readonly node: NodeId; readonly instance: string; readonly contact: Contact }
  | { readonly kind: "left"; readonly node: NodeId; readonly reason: string };

/** A stream was opened. Its hello has the time of two usual heartbeats. */
export const newSession = (now: Millis): AgentSession => ({
  kind: "awaitingHello",
  contact: newContact(USUAL_HEARTBEAT, now),
});

/** What the server is to do about a message. */
export type SessionOutcome =
  | {
      readonly kind: "joined";
      readonly node: NodeId;
      readonly instance: string;
      readonly inventory: Inventory;
      /** Undefined: the agent does not know yet what runs. That is not the same as nothing. */
      readonly observed: ObservedState | undefined;
    }
  | { readonly kind: "heartbeat"; readonly sequence: number }
  | { readonly kind: "inventory"; readonly inventory: Inventory }
  | { readonly kind: "observed"; readonly observed: ObservedState }
  | { readonly kind: "log"; readonly chunk: LogChunk }
  | { readonly kind: "sharing"; readonly report: SharingReport }
  /** The agent wants a new certificate for its key. */
  | { readonly kind: "certificate" }
  | { readonly kind: "left"; readonly reason: string }
  /** From a newer agent, or after its goodbye. */
  | { readonly kind: "ignored" }
  /** The stream is to be ended with this reason; nothing was learned from the message. */
  | { readonly kind: "refused"; readonly reason: string };

export interface SessionStep {
  readonly session: AgentSession;
  readonly outcome: SessionOutcome;
}

/** One message from the agent. A refusal leaves the session as it was. */
export function onAgentMessage(session: AgentSession, message: SessionRequest, now: Millis): SessionStep {
  switch (session.kind) {
    case "awaitingHello":
      if (message.body.case !== "hello") return refuse(session, "the first message of an agent must be hello");
      return onHello(session, message.body.value, now);
    case "open":
      return onOpen(session, message.body, now);
    case "left":
      if (message.body.case === "hello") return refuse(session, "hello after goodbye: open a new stream");
      return { session, outcome: { kind: "ignored" } };
    default:
      return assertNever(session);
  }
}

/** How the stream of a session ended: on purpose, or by a loss that says nothing about the node. */
export const endedOnPurpose = (session: AgentSession): boolean => session.kind === "left";

export interface SessionLook {
  readonly session: AgentSession;
  /** Nothing comes any more, whatever the socket says: the stream is to be closed as lost. */
  readonly halfOpen: boolean;
}

/** To be asked several times a heartbeat interval, as `lookAt`. After a goodbye silence is what was announced. */
export function lookAtSession(session: AgentSession, now: Millis): SessionLook {
  if (session.kind === "left") return { session, halfOpen: false };
  const { contact, halfOpen } = lookAt(session.contact, now);
  return { session: { ...session, contact }, halfOpen };
}

const refuse = (session: AgentSession, reason: string): SessionStep => ({
  session,
  outcome: { kind: "refused", reason },
});

function onHello(session: AgentSession, hello: Hello, now: Millis): SessionStep {
  const { inventory, observed } = hello;
  const interval = hello.heartbeatIntervalMs;
  if (!isNodeName(hello.nodeId)) return refuse(session, nodeNameProblem(hello.nodeId));
  // Without it a second agent of the same name looks like the first one come back.
  if (hello.instanceId === "") return refuse(session, "hello without an instance id");
  if (inventory === undefined) return refuse(session, "hello without an inventory");
  if (interval > MOST_HEARTBEAT) {
    const [asked, most] = [formatDuration(interval), formatDuration(MOST_HEARTBEAT)];
    return refuse(session, `heartbeat_interval is ${asked}, and at most ${most} is allowed`);
  }
  const node = nodeId(hello.nodeId);
  const instance = hello.instanceId;
  const heartbeatInterval = interval === 0 ? USUAL_HEARTBEAT : millis(Math.max(interval, LEAST_HEARTBEAT));
  return {
    session: { kind: "open", node, instance, contact: newContact(heartbeatInterval, now) },
    outcome: {
      kind: "joined",
      node,
      instance,
      inventory: inventoryFromWire(inventory),
      observed: observed === undefined ? undefined : observedFromWire(observed),
    },
  };
}

function onOpen(
  session: Extract<AgentSession, { kind: "open" }>,
  body: SessionRequest["body"],
  now: Millis,
): SessionStep {
  const contact = heard(session.contact, now);
  const open = (outcome: SessionOutcome): SessionStep => ({ session: { ...session, contact }, outcome });
  switch (body.case) {
    case "hello":
      return refuse(session, "a second hello: an agent says it once a stream");
    case "heartbeat":
      return open({ kind: "heartbeat", sequence: body.value.sequence });
    case "inventory":
      return open({ kind: "inventory", inventory: inventoryFromWire(body.value) });
    case "observed":
      return open({ kind: "observed", observed: observedFromWire(body.value) });
    case "logChunk":
      return open({ kind: "log", chunk: body.value });
    case "sharing":
      return open({ kind: "sharing", report: sharingReportFromWire(body.value) });
    case "certificateRequest":
      return open({ kind: "certificate" });
    case "goodbye": {
      const { reason } = body.value;
      return { session: { kind: "left", node: session.node, reason }, outcome: { kind: "left", reason } };
    }
    case undefined:
      return open({ kind: "ignored" });
    default:
      return assertNever(body);
  }
}

function nodeNameProblem(name: string): string {
  const shown = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  return (
    `the node id ${JSON.stringify(shown)} cannot be used: ` +
    "1 to 253 letters, digits, dots, dashes and underscores are allowed, a letter or digit first"
  );
}
