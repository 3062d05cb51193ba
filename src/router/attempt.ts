import type { Millis } from "../core/ids.ts";
import { assertNever } from "../core/result.ts";
import type { Ending, Trace } from "./account.ts";
import type { Body } from "./ask-usage.ts";
import type { AttemptState } from "./attempt-state.ts";
import { beginRelay } from "./begin-relay.ts";
import type { ExchangeContext, ExchangeRequest } from "./context.ts";
import { dueOf } from "./deadlines.ts";
import type { AnswerListener, EngineFailure } from "./engine/connection.ts";
import type { ResponseHead } from "./engine/response-head.ts";
import type { Replica } from "./fleet.ts";
import { forwardedHeaders, requestHead } from "./forward-head.ts";
import { EMPTY_ANSWER, failureOfHead, promisesBody } from "./head-failure.ts";
import { asChunk, type OpenBody } from "./open-body.ts";
import { bytesOf, type Piece, textOf } from "./piece.ts";
import type { Relay } from "./relay.ts";
import { isEventStream } from "./relay-headers.ts";
import type { RestStream } from "./rescue/course.ts";
import type { KeptAnswer } from "./rescue/kept-answer.ts";
import type { EngineAsk } from "./translate/ask.ts";
import { targetAt } from "./upstreams/endpoint.ts";
import { forwardedElsewhere } from "./upstreams/headers.ts";
import { viaLine } from "./upstreams/via.ts";

const lengthOf = ({ rest, bytes }: Body): number | undefined => (rest?.isChunked === true ? undefined : bytes);

/** Whose request it is. It hears exactly one of onWhole, onFurther and onFailed, unless it drops the attempt. */
export interface AttemptOwner {
  /** Whether another replica could take the request at once. */
  isAnotherFree(replica: Replica): boolean;
  /** What every answer carries: names and values in turn. */
  ownHeaders(): readonly string[];
  /** The client has a part of the answer. */
  onBegun(): void;
  /** Where what the client gets of the stream is kept; undefined: nowhere. */
  keeps(sending: Sending): KeptAnswer | undefined;
  onWhole(attempt: Attempt, ending: Ending): void;
  /** There is more to be asked of the same replica before the client has its answer. */
  onFurther(attempt: Attempt, ask: EngineAsk): void;
  onFailed(attempt: Attempt, failure: EngineFailure): void;
  /** The client takes nothing. */
  onStuck(): void;
}

/** One request as it is sent to one replica. */
export interface Sending {
  readonly replica: Replica;
  readonly ask: EngineAsk;
  /** What it brings to the replica: tokens to be read, and the names of its prompt's beginnings. */
  readonly load: { readonly tokens: number; readonly keys: readonly number[] };
  /** Not on a connection that was kept. */
  readonly fresh: boolean;
  readonly hidesUsage: boolean;
  /** The client has a part of the answer, and this is to be the rest of it. */
  readonly rest?: Rest;
}

/** What goes on when another replica does. */
export interface Rest {
  readonly relay: Relay;
  readonly stream: RestStream;
  readonly kept: KeptAnswer;
}

interface Of {
  readonly context: ExchangeContext;
  readonly request: ExchangeRequest;
  readonly trace: Trace;
  readonly owner: AttemptOwner;
}

/** One sending of a request to one replica, from there to the end of the answer or to what went wrong with it. */
export class Attempt implements AnswerListener {
  readonly #of: Of;
  #sending: Sending;
  /** Of `#sending`, which is far from here: each event asks for it. */
  readonly #rest: Rest | undefined;
  #state: AttemptState;
  /** Of the prompt, while no answer has begun: what the replica must still read. */
  #unread: number;
  #holdsReplica = true;
  #kept: KeptAnswer | undefined;
  /** A body is still to come. */
  #lacksBody = false;

  constructor(of: Of, sending: Sending) {
    this.#of = of;
    this.#sending = sending;
    this.#rest = sending.rest;
    this.#kept = sending.rest?.kept;
    this.#unread = sending.load.tokens;
    this.#state = { kind: "waiting", connection: undefined, connected: false, since: this.#now() };
  }

  get sending(): Sending {
    return this.#sending;
  }

  get replica(): Replica {
    return this.sending.replica;
  }

  get kind(): AttemptState["kind"] {
    return this.#state.kind;
  }

  /** Undefined: no answer has begun. */
  get relay(): Relay | undefined {
    return this.#state.kind === "waiting" ? this.#rest?.relay : this.#state.relay;
  }

  start(): void {
    const { trace, context } = this.#of;
    const { replica, ask, load, fresh } = this.sending;
    const { rest, chunks, ending } = ask.body;
    // Another replica may have been asked with other words there.
    if (rest !== undefined) rest.ending = ending ?? [];
    const head = this.#head(trace.span?.sent(trace, replica.route));
    trace.replica = replica.id;
    context.fleet.begin(replica, this.#now(), load);
    const body = rest?.isChunked === true ? asChunk(chunks) : chunks;
    // What is not to be had twice is not sent on a connection that may be closed already.
    const isOpen = rest !== undefined;
    const connection = replica.pool.send({ head, body, isOpen }, this, fresh || isOpen);
    if (this.#state.kind === "waiting") this.#state.connection = connection;
    trace.handedOverAt = this.#now();
  }

  #head(traceparent: string | undefined): string {
    const { context, request } = this.#of;
    const { replica, ask } = this.sending;
    const { rawHeaders, headers } = request.req;
    const { upstream } = replica.route;
    const rest = { replica: replica.route, requestId: request.requestId, traceparent, bodyBytes: lengthOf(ask.body) };
    if (upstream === undefined) {
      const forwarded = forwardedHeaders(rawHeaders, traceparent !== undefined);
      return requestHead({ ...rest, target: ask.target, forwarded });
    }
    const forwarded = viaLine(headers, context.fleet.cluster) + forwardedElsewhere(rawHeaders);
    return requestHead({ ...rest, target: targetAt(upstream, ask.target), forwarded });
  }

  onConnected(): void {
    if (this.#state.kind !== "waiting") return;
    const now = this.#now();
    this.#state.connected = true;
    this.#state.since = now;
    this.replica.saw("connected", now);
    if (this.#state.connection !== undefined) this.#openBody?.attach(this.#state.connection);
  }

  /** What the client still sends. */
  get #openBody(): OpenBody | undefined {
    return this.sending.ask.body.rest;
  }

  onHead(head: ResponseHead): void {
    const state = this.#state;
    if (state.kind !== "waiting") return;
    const failure = this.#failureOf(head);
    if (failure !== undefined) {
      this.#fail(failure);
      return;
    }
    const now = this.#now();
    this.replica.saw("answered", now);
    this.replica.queuedTokens -= this.#unread;
    this.#unread = 0;
    this.#lacksBody = promisesBody(head);
    const relay = this.#rest?.relay ?? this.#beginRelay(head);
    const { connection } = state;
    this.#state = { kind: "relaying", connection, relay, activeAt: now, isActive: false, held: false };
  }

  #failureOf(head: ResponseHead): EngineFailure | undefined {
    if (this.#rest === undefined) return failureOfHead(head, () => this.#of.owner.isAnotherFree(this.replica));
    if (head.status === 200 && isEventStream(head)) return undefined;
    return { kind: "unwilling", detail: `it does not go on with the answer: ${String(head.status)}` };
  }

  #beginRelay(head: ResponseHead): Relay {
    const { context, request, owner } = this.#of;
    if (head.status === 200 && isEventStream(head)) this.#kept = owner.keeps(this.sending);
    return beginRelay(context, request, { head, sending: this.sending, ownHeaders: owner.ownHeaders() });
  }

  onBody(piece: Piece): void {
    const state = this.#state;
    if (state.kind !== "relaying") return;
    state.isActive = true;
    this.#lacksBody = false;
    const whole = this.#kept === undefined ? piece : this.#through(this.#kept, textOf(piece));
    if (whole.length === 0 || state.relay.write(whole)) return;
    state.held = true;
    state.connection?.pause();
    this.#of.request.res.once("drain", () => {
      state.held = false;
      state.isActive = true;
      state.connection?.resume();
    });
  }

  #through(kept: KeptAnswer, text: string): string {
    const rest = this.#rest;
    return kept.push(rest === undefined ? text : textOf(rest.stream.push(bytesOf(text)) ?? ""));
  }

  /** The last bytes of all. */
  #last(piece: Piece): Piece {
    if (this.#kept === undefined) return piece;
    const rest = this.#rest;
    if (rest === undefined) return this.#kept.finish(textOf(piece));
    return this.#kept.finish(textOf(rest.stream.finish(piece.length === 0 ? undefined : bytesOf(piece)) ?? ""));
  }

  onReadDone(): void {
    if (this.#state.kind !== "relaying") return;
    const { relay } = this.#state;
    relay.flush();
    if (!relay.hasBegun) return;
    this.#of.owner.onBegun();
    if (this.#kept === undefined) this.#letGo();
  }

  /** The question is not asked again, and the answer may take far longer than it did. */
  #letGo(): void {
    const { ask } = this.#sending;
    if (ask.body.chunks.length === 0) return;
    const body = { ...ask.body, chunks: [] };
    this.#sending = { ...this.#sending, ask: { target: ask.target, body, rewrite: () => undefined } };
  }

  onEnd(last: Piece): void {
    if (this.#state.kind !== "relaying") return;
    const { relay } = this.#state;
    if (this.#lacksBody && last.length === 0) {
      this.#fail(relay.hasBegun ? { ...EMPTY_ANSWER, kind: "broke" } : EMPTY_ANSWER);
      return;
    }
    const now = this.#now();
    const further = relay.end(this.#last(last));
    this.#state = { kind: "whole", relay };
    if (further !== undefined) {
      this.#of.owner.onFurther(this, further);
      return;
    }
    const ending = relay.ending();
    if (ending.outcome === "engine_error" && ending.detail !== undefined) this.replica.saw("broke", now);
    this.#of.owner.onWhole(this, ending);
  }

  onFailure(failure: EngineFailure): void {
    if (this.#state.kind === "waiting" || this.#state.kind === "relaying") this.#fail(failure);
  }

  onTick(now: Millis): void {
    const { streamComment } = this.#of.context.limits;
    this.#noteActivity(now);
    // The client waits in the middle of its answer for one that goes on.
    const rest = this.#rest;
    if (this.#state.kind === "waiting" && rest !== undefined && now - rest.relay.sentAt >= streamComment) {
      rest.relay.keepAlive(now);
    }
    this.#waitForClient(now);
    const due = dueOf(this.#state, this.#of.context.limits, now);
    if (due === undefined) return;
    switch (due.kind) {
      case "answer":
        this.#fail(due.failure);
        return;
      case "client":
        this.drop();
        this.#of.owner.onStuck();
        return;
      case "silence":
        due.state.relay.keepAlive(now);
        return;
      default:
        assertNever(due);
    }
  }

  #noteActivity(now: Millis): void {
    this.relay?.onTick(now);
    if (this.#state.kind !== "relaying" || !this.#state.isActive) return;
    this.#state.isActive = false;
    this.#state.activeAt = now;
  }

  /** No answer can be expected of an engine that does not have the whole question. */
  #waitForClient(now: Millis): void {
    if (this.#state.kind === "waiting" && this.#openBody?.waitsForClient === true) this.#state.since = now;
  }

  #fail(failure: EngineFailure): void {
    this.drop();
    this.#of.owner.onFailed(this, failure);
  }

  /** Cancels what the engine still does, and tells nobody. */
  drop(): void {
    const state = this.#state;
    if (state.kind === "failed" || state.kind === "whole") return;
    this.#state = { kind: "failed", relay: this.relay };
    state.connection?.drop();
    this.#openBody?.detach();
  }

  /** The replica is free of it. */
  leave(): void {
    if (!this.#holdsReplica) return;
    this.#holdsReplica = false;
    this.#of.context.fleet.end(this.replica, this.#unread);
    this.#unread = 0;
  }

  #now(): Millis {
    return this.#of.context.clock.monotonic();
  }
}
