import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { messageOf } from "../../core/errors.ts";
import type { NewEvent } from "../../core/event.ts";
import { millis, type NodeId, plus } from "../../core/ids.ts";
import { assertNever } from "../../core/result.ts";
import type { SharingReport } from "../../core/sharing.ts";
import { VERSION } from "../../core/version.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/logger.ts";
import {
  type LogChunk,
  type SessionRequest,
  type SessionResponse,
  SessionResponseSchema,
} from "../../wire/gen/llmgw/v1/agent_pb.js";
import { lookAtSession, newSession, onAgentMessage, type SessionOutcome } from "../../wire/session.ts";
import { Outbox } from "../outbox.ts";
import type { Admission, Door } from "../door.ts";
import { ORIGIN, PEER } from "../peer.ts";
import type { Refusal, TokenDoor } from "../tokens/token-door.ts";
import type { Agents, AgentStream } from "./agents.ts";

/** In each heartbeat interval, so that a silence is found soon after it is one. */
const LOOKS_AN_INTERVAL = 4;
/** However seldom the agent speaks: a right that has ended is found as soon. */
const LOOK_AT_LEAST_EVERY = millis(1_250);
/** Agents ask once an hour at most. */
const RENEWAL_EVERY = millis(10 * 60_000);

export interface AgentSessionOptions {
  readonly agents: Agents;
  readonly serverId: string;
  /** Undefined: nodes need no certificate. */
  readonly door: Door | undefined;
  /** Where nodes need none. */
  readonly tokens: TokenDoor;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For operators. */
  readonly report: (event: NewEvent) => void;
}

/** Serves the one stream of an agent until either end closes it. */
export async function* agentSession(
  options: AgentSessionOptions,
  requests: AsyncIterable<SessionRequest>,
  context: HandlerContext,
): AsyncGenerator<SessionResponse> {
  const connection = new AgentConnection(options, context);
  void connection.read(requests);
  try {
    yield* connection.outbox;
  } finally {
    connection.close();
  }
}

type Joined = Extract<SessionOutcome, { kind: "joined" }>;

class AgentConnection {
  readonly outbox = new Outbox<SessionResponse>();
  readonly #options: AgentSessionOptions;
  readonly #context: HandlerContext;
  #session;
  #stream: AgentStream | undefined;
  #admission: Admission | undefined;
  /** Why the stream must end now, once it was let in. */
  #refusal: Refusal = () => undefined;
  #renewAgainAt = millis(0);
  #cancelLook: () => void = () => undefined;

  constructor(options: AgentSessionOptions, context: HandlerContext) {
    this.#options = options;
    this.#context = context;
    this.#session = newSession(options.clock.monotonic());
    this.#look();
    context.signal.addEventListener("abort", () => {
      this.outbox.end();
    });
  }

  async read(requests: AsyncIterable<SessionRequest>): Promise<void> {
    try {
      for await (const message of requests) {
        if (this.outbox.hasEnded) return;
        const { session, outcome } = onAgentMessage(this.#session, message, this.#options.clock.monotonic());
        this.#session = session;
        await this.#act(outcome);
      }
      this.outbox.end();
    } catch (error) {
      // A refusal goes out as it is; a connection that broke has nobody left to tell.
      this.outbox.end(error instanceof ConnectError ? error : new ConnectError(messageOf(error), Code.Aborted));
    }
  }

  close(): void {
    this.#cancelLook();
    this.outbox.end();
    if (this.#stream !== undefined) this.#options.agents.closed(this.#stream);
  }

  async #act(outcome: SessionOutcome): Promise<void> {
    if (outcome.kind === "refused") throw new ConnectError(outcome.reason, Code.InvalidArgument);
    if (outcome.kind === "joined") await this.#join(outcome);
    else this.#take(outcome);
  }

  #take(outcome: Exclude<SessionOutcome, { kind: "joined" | "refused" }>): void {
    switch (outcome.kind) {
      case "heartbeat":
        this.outbox.push(
          create(SessionResponseSchema, { body: { case: "heartbeatAck", value: { sequence: outcome.sequence } } }),
        );
        this.#heard();
        break;
      case "inventory":
        this.#heard({ inventory: outcome.inventory });
        break;
      case "observed":
        this.#heard({ observed: outcome.observed });
        break;
      case "log":
        this.#heard();
        this.#deliver(outcome.chunk);
        break;
      case "sharing":
        this.#heard();
        this.#share(outcome.report);
        break;
      case "certificate":
        this.#heard();
        void this.#renewCertificate();
        break;
      case "left":
        this.#heard({ goodbye: outcome.reason });
        this.#reportGoodbye(outcome.reason);
        break;
      case "ignored":
        this.#heard();
        break;
      default:
        assertNever(outcome);
    }
  }

  async #join({ node, instance, inventory, observed }: Joined): Promise<void> {
    const { agents, serverId, logger } = this.#options;
    // What it says meanwhile waits unread, so its silence means nothing.
    this.#cancelLook();
    await this.#admit(node);
    const stream: AgentStream = { node, instance, outbox: this.outbox };
    const holder = await agents.claim({ ...stream, inventory, observed });
    this.#look();
    if (holder !== undefined) {
      const reason =
        `the node id ${node} is in use by the agent on ${holder.hostname} (${holder.address}); this one is on ` +
        `${inventory.hostname} (${inventory.address}): give one of them another node_id`;
      this.#refuse(node, reason, Code.AlreadyExists);
    }
    this.#stream = stream;
    logger.info({ node, address: inventory.address }, "node connected");
    const value = { serverId, serverVersion: VERSION };
    this.outbox.push(create(SessionResponseSchema, { body: { case: "welcome", value } }));
  }

  async #admit(node: NodeId): Promise<void> {
    const { door, tokens } = this.#options;
    const { values, requestHeader } = this.#context;
    const [peer, origin, authorization] = [values.get(PEER), values.get(ORIGIN), requestHeader.get("authorization")];
    try {
      if (door === undefined) {
        this.#refusal = await tokens.admit(node, { peer, origin, authorization });
        return;
      }
      const admission = door.admitNode(peer, node);
      this.#admission = admission;
      this.#refusal = () => admission.refusal();
    } catch (error) {
      const { rawMessage, code } = ConnectError.from(error);
      this.#refuse(node, rawMessage, code);
    }
  }

  #deliver(chunk: LogChunk): void {
    if (this.#stream !== undefined) this.#options.agents.logs.deliver(this.#stream.node, chunk);
  }

  #share(report: SharingReport): void {
    if (this.#stream !== undefined) this.#options.agents.heardSharing(this.#stream, report);
  }

  async #renewCertificate(): Promise<void> {
    const { door, clock } = this.#options;
    const answer = (value: { readonly certificate?: string; readonly error?: string }): void => {
      this.outbox.push(create(SessionResponseSchema, { body: { case: "certificateAnswer", value } }));
    };
    if (door === undefined || this.#admission === undefined) {
      answer({ error: "this control plane asks for no certificates" });
      return;
    }
    const now = clock.monotonic();
    // Each renewal is written down: an agent that asks without end would fill a disk.
    if (this.#admission.refusal() !== undefined || now < this.#renewAgainAt) return;
    this.#renewAgainAt = plus(now, RENEWAL_EVERY);
    try {
      answer({ certificate: await door.renewCertificate(this.#admission.certificate) });
    } catch (error) {
      answer({ error: messageOf(error) });
    }
  }

  #refuse(node: NodeId, reason: string, code: Code): never {
    this.#tellRefusal(node, reason);
    throw new ConnectError(reason, code);
  }

  #tellRefusal(node: NodeId, reason: string): void {
    const { report, logger } = this.#options;
    logger.warn({ node }, reason);
    report({ level: "warning", subjectKind: "node", subject: node, reason: "NodeRefused", message: reason });
  }

  #reportGoodbye(reason: string): void {
    if (this.#stream === undefined) return;
    const { node } = this.#stream;
    const message = `the agent of ${node} has stopped on purpose${reason === "" ? "" : `: ${reason}`}`;
    this.#options.report({ level: "info", subjectKind: "node", subject: node, reason: "NodeLeft", message });
  }

  #heard(news: Parameters<Agents["heard"]>[1] = {}): void {
    if (this.#stream !== undefined) this.#options.agents.heard(this.#stream, news);
  }

  /** A connection whose packets go nowhere stays open for hours unless somebody looks; so does one whose certificate ended. */
  #look(): void {
    const often = this.#session.kind === "left" ? Infinity : this.#session.contact.interval / LOOKS_AN_INTERVAL;
    this.#cancelLook = this.#options.clock.after(millis(Math.min(often, LOOK_AT_LEAST_EVERY)), () => {
      const { session, halfOpen } = lookAtSession(this.#session, this.#options.clock.monotonic());
      this.#session = session;
      const refusal = this.#refusal();
      if (refusal !== undefined && this.#stream !== undefined) {
        this.#tellRefusal(this.#stream.node, refusal.rawMessage);
        this.outbox.end(refusal);
      } else if (halfOpen) {
        this.outbox.end(new ConnectError("nothing was heard for two heartbeats", Code.DeadlineExceeded));
      } else this.#look();
    });
  }
}
