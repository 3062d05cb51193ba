import { ERRORS } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import { assertNever } from "../core/result.ts";
import type { UsageRecord } from "../core/usage.ts";
import { admit, type Admission } from "../routing/admission.ts";
import { decideRetry, FAILURES } from "../routing/retry.ts";
import { type Ending, newTrace, type Trace } from "./account.ts";
import { beginRelay } from "./begin-relay.ts";
import type { ExchangeContext, ExchangeRequest } from "./context.ts";
import { dueOf, inSeconds } from "./deadlines.ts";
import type { AnswerListener, EngineFailure } from "./engine/connection.ts";
import type { ResponseHead } from "./engine/response-head.ts";
import { errorEvent, type Refusal } from "./error-body.ts";
import type { Relaying, State, Waiting } from "./exchange-state.ts";
import type { Model, Replica } from "./fleet.ts";
import { forwardedHeaders, requestHead } from "./forward-head.ts";
import { failureOfStatus } from "./head-failure.ts";
import { enter } from "./keys/enter.ts";
import { noteFailure, noteProgress, noteRelay, noteTry, noteWait } from "./note.ts";
import { type Question, questionOf } from "./question.ts";
import { allAside, engineFailed, noModel, notReady, overloaded, unknownModel } from "./refusals.ts";
import { refusalReply, sendReply } from "./reply.ts";
import type { Timed } from "./sweep.ts";
import type { EngineAsk } from "./translate/ask.ts";
import { receive, type Upload, type UploadListener } from "./upload.ts";
import type { Waiter } from "./waiting-room.ts";

interface Sending {
  readonly ask: EngineAsk;
  /** Not on a connection that was kept. */
  readonly fresh: boolean;
}

/**
 * One client's request, from its head to the end of its answer, over as many replicas as it takes. It owns its state and
 * is told of everything by events: of the upload, of the engine's connection, of the client's socket, of the clock.
 */
export class Exchange implements AnswerListener, UploadListener, Timed, Waiter {
  readonly #context: ExchangeContext;
  readonly #request: ExchangeRequest;
  readonly #trace: Trace;
  #state: State;
  /** Kept until an answer begins: so long the request can be sent again. */
  #question: Question | undefined;
  /** Of its prompt, while no answer has begun: what the replica that has it must still read. */
  #unread = 0;
  #model: Model | undefined;
  #forwarded: string | undefined;
  readonly #tried: Replica[] = [];
  #staleRetried = false;
  #lastFailure: EngineFailure | undefined;

  constructor(context: ExchangeContext, request: ExchangeRequest) {
    this.#context = context;
    this.#request = request;
    this.#trace = newTrace(request, request.req, context.clock.monotonic());
    this.#trace.span = context.tracer?.begin(request.req, request.path);
    this.#state = { kind: "uploading", activeAt: this.#trace.startedAt };
  }

  start(): void {
    this.#context.sweep.add(this);
    const over = this.#request.visit.peek();
    if (over !== undefined) this.#refuse(over.refusal, over.headers);
    else {
      const { req, endpoint } = this.#request;
      receive(req, { type: endpoint.body, limit: this.#context.limits.bodyBytes }, this);
    }
  }

  /** Nothing has been answered yet. */
  get isOpen(): boolean {
    return this.#state.kind === "uploading";
  }

  onProgress(): void {
    if (this.#state.kind === "uploading") this.#state.activeAt = this.#now();
  }

  onRefused(refusal: Refusal): void {
    if (this.#state.kind === "uploading") this.#refuse(refusal, []);
  }

  onUpload(upload: Upload): void {
    if (this.#state.kind !== "uploading") return;
    this.#trace.bytesIn = upload.bytes;
    this.#trace.uploadedAt = this.#now();
    const { model: field } = upload.fields;
    if (field.kind !== "name") {
      this.#refuse(noModel(field), []);
      return;
    }
    const { name } = field;
    const forbidden = this.#request.visit.forbids(name);
    const model = forbidden === undefined ? this.#context.fleet.model(name) : undefined;
    if (model === undefined) this.#refuse(forbidden?.refusal ?? unknownModel(name), []);
    else this.#enter(model, upload);
  }

  #enter(model: Model, upload: Upload): void {
    const cancel = enter(this.#request.visit, {
      entered: this.#begin.bind(this, model, upload),
      refused: ({ refusal, headers }) => {
        this.#refuse(refusal, headers);
      },
    });
    if (cancel !== undefined) this.#state = { kind: "sharing", cancel };
  }

  #begin(model: Model, upload: Upload): void {
    this.#model = model;
    this.#trace.model = model.name;
    this.#trace.profile = model.route.profile;
    model.inFlight += 1;
    this.#question = questionOf(this.#context, this.#request, upload);
    this.#dispatch(model, this.#question);
  }

  /** Sends to the replica that is to have it; a failed attempt comes here again, and one that has waited for its turn. */
  #dispatch(model: Model, question: Question): void {
    const admission = this.#admit(model, question, this.#tried);
    if (admission.kind === "send") {
      if (this.#lastFailure !== undefined) this.#context.metrics.retried(this.#lastFailure.kind);
      const ask = question.asks.to(admission.to.route, admission.to.lacks);
      if (!ask.ok) {
        this.#refuse(ask.error, []);
        return;
      }
      const sending = { model, replica: admission.to, failed: this.#tried.length, policy: this.#context.policyName };
      noteTry(this.#trace, sending, this.#now());
      this.#send(admission.to, question, { ask: ask.value, fresh: false });
    } else if (admission.kind === "full") {
      this.#wait(model);
    } else if (this.#lastFailure !== undefined) {
      this.#failed(this.#lastFailure);
    } else {
      const later = admission.kind === "aside" ? allAside(model.route, admission.wait) : notReady(model.route);
      this.#refuse(later.refusal, later.headers);
    }
  }

  #admit({ replicas }: Model, { needsSlot, pick }: Question, tried: readonly Replica[]): Admission<Replica> {
    return admit({ replicas, tried, needsSlot, policy: this.#context.policy, context: pick }, this.#now());
  }

  /** Nothing is sent to the client while it waits: the status is not known yet. */
  #wait(model: Model): void {
    if (!model.room.enter(this, this.#request.visit.key ?? "")) {
      const later = overloaded(model.route, "the queue for it is full", model.room.expectedWait());
      this.#refuse(later.refusal, later.headers);
      return;
    }
    model.queued += 1;
    this.#state = { kind: "queued", model, since: this.#now() };
  }

  onTurn(): void {
    if (this.#state.kind !== "queued" || this.#question === undefined) return;
    const { model, since } = this.#state;
    model.queued -= 1;
    noteWait(this.#trace, since, this.#now());
    this.#state = { kind: "deciding" };
    this.#dispatch(model, this.#question);
  }

  onWaitOver(): void {
    if (this.#state.kind !== "queued") return;
    const { route, room } = this.#state.model;
    const waited = `no engine was free within ${inSeconds(this.#context.limits.queueWait)}`;
    const later = route.replicas.length === 0 ? notReady(route) : overloaded(route, waited, room.expectedWait());
    this.#refuse(later.refusal, later.headers);
  }

  #send(replica: Replica, { tokens, pick }: Question, { ask, fresh }: Sending): void {
    const { req, requestId } = this.#request;
    const { target, body } = ask;
    const now = this.#now();
    const traceparent = this.#trace.span?.sent(this.#trace, replica.route);
    const forwarded = (this.#forwarded ??= forwardedHeaders(req.rawHeaders, traceparent !== undefined));
    const to = { replica: replica.route, target, requestId, traceparent };
    const head = requestHead({ ...to, bodyBytes: body.bytes, forwarded });
    this.#trace.replica = replica.id;
    this.#context.fleet.begin(replica, now, { tokens, keys: pick.prompt.keys });
    this.#unread = tokens;
    const state: Waiting = { kind: "waiting", replica, ask, connection: undefined, connected: false, since: now };
    this.#state = state;
    state.connection = replica.pool.send({ head, body: body.chunks }, this, fresh);
    this.#trace.handedOverAt = this.#now();
  }

  onConnected(): void {
    if (this.#state.kind !== "waiting") return;
    const now = this.#now();
    this.#state.connected = true;
    this.#state.since = now;
    this.#state.replica.saw("connected", now);
  }

  onHead(head: ResponseHead): void {
    const state = this.#state;
    if (state.kind !== "waiting") return;
    const failure = failureOfStatus(head.status, () => this.#isAnotherFree(state.replica));
    if (failure !== undefined) {
      state.connection?.drop();
      this.#attemptFailed(state, failure);
      return;
    }
    const now = this.#now();
    state.replica.saw("answered", now);
    const { replica, connection } = state;
    replica.queuedTokens -= this.#unread;
    this.#unread = 0;
    const hidesUsage = this.#question?.hidesUsage === true;
    const beginning = { state, hidesUsage, ownHeaders: this.#ownHeaders() };
    const relay = beginRelay(this.#context, this.#request, { head, beginning, now });
    this.#state = { kind: "relaying", replica, connection, relay, activeAt: now, held: false };
  }

  #isAnotherFree(replica: Replica): boolean {
    if (this.#model === undefined || this.#question === undefined) return false;
    return this.#admit(this.#model, this.#question, [...this.#tried, replica]).kind === "send";
  }

  /** What every answer carries. */
  #ownHeaders(): readonly string[] {
    const { replica, attempts } = this.#trace;
    const own = ["x-llmgw-attempts", String(attempts), ...this.#request.visit.headers(), ...this.#request.extraHeaders];
    return replica === undefined ? own : ["x-llmgw-replica", replica, ...own];
  }

  onBody(chunk: Buffer): void {
    const state = this.#state;
    if (state.kind !== "relaying") return;
    state.activeAt = this.#now();
    if (state.relay.write(chunk, state.activeAt)) return;
    state.held = true;
    state.connection?.pause();
    this.#request.res.once("drain", () => {
      state.held = false;
      state.activeAt = this.#now();
      state.connection?.resume();
    });
  }

  onReadDone(): void {
    if (this.#state.kind !== "relaying") return;
    const { relay } = this.#state;
    relay.flush();
    // The client has a part of the answer: there is no sending again, and a prompt can be large.
    if (relay.hasBegun) this.#question = undefined;
  }

  onEnd(last: Buffer | undefined): void {
    const state = this.#state;
    if (state.kind !== "relaying") return;
    const now = this.#now();
    const further = state.relay.end(last, now);
    if (further !== undefined && this.#question !== undefined) {
      this.#leave(state.replica);
      this.#send(state.replica, this.#question, { ask: further, fresh: false });
      return;
    }
    const ending = state.relay.ending();
    if (ending.outcome === "engine_error" && ending.detail !== undefined) state.replica.saw("broke", now);
    if (ending.detail !== undefined) this.#context.metrics.cut(ending.outcome);
    this.#settle(ending);
  }

  onFailure(failure: EngineFailure): void {
    const state = this.#state;
    if (state.kind === "relaying" && state.relay.hasBegun) this.#brokeOff(state, failure);
    else if (state.kind === "waiting" || state.kind === "relaying") this.#attemptFailed(state, failure);
  }

  #attemptFailed(state: Waiting | Relaying, failure: EngineFailure): void {
    const { replica } = state;
    this.#leave(replica);
    this.#state = { kind: "deciding" };
    noteFailure(this.#trace, failure.detail);
    const { health } = FAILURES[failure.kind];
    if (health !== undefined) replica.saw(health, this.#now());
    const decision = decideRetry(failure.kind, {
      reachedClient: false,
      bodyRepeatable: true,
      attempts: this.#trace.attempts,
      staleRetried: this.#staleRetried,
    });
    if (decision.kind === "fail" || this.#question === undefined || this.#model === undefined) {
      this.#failed(failure);
    } else if (decision.kind === "sameReplica" && state.kind === "waiting") {
      this.#staleRetried = true;
      this.#context.metrics.retried(failure.kind);
      this.#send(replica, this.#question, { ask: state.ask, fresh: true });
    } else {
      this.#lastFailure = failure;
      this.#tried.push(replica);
      this.#dispatch(this.#model, this.#question);
    }
  }

  #failed(failure: EngineFailure): void {
    this.#refuse(engineFailed(this.#trace.replica ?? "", failure, FAILURES[failure.kind].code), []);
  }

  /** The client has a part of the answer and will get no more of it. */
  #brokeOff(state: Relaying, failure: EngineFailure): void {
    const { code, health } = FAILURES[failure.kind];
    if (health !== undefined) state.replica.saw(health, this.#now());
    noteFailure(this.#trace, failure.detail);
    const { shape, requestId } = this.#request;
    const refusal = engineFailed(state.replica.id, failure, code);
    state.relay.breakOff(errorEvent(shape, refusal, requestId), refusal);
    this.#context.metrics.cut(failure.kind);
    this.#settle({ code: ERRORS[code].http, outcome: failure.kind, detail: failure.detail });
  }

  /** The client's connection is gone, whatever state this is in. */
  onClientGone(): void {
    const state = this.#state;
    if (state.kind === "over") return;
    if (state.kind === "relaying") this.#context.metrics.cut("client_gone");
    if (state.kind === "waiting" || state.kind === "relaying") state.connection?.drop();
    this.#settle({ code: ERRORS.CLIENT_GONE.http, outcome: "client_gone", detail: state.kind });
  }

  /** The router stops and waits no longer. */
  abort(): void {
    this.onClientGone();
    this.#request.res.destroy();
  }

  onTick(now: Millis): void {
    const due = dueOf(this.#state, this.#context.limits, now);
    if (due === undefined) return;
    switch (due.kind) {
      case "upload":
        this.#refuse(due.refusal, []);
        return;
      case "answer":
        due.state.connection?.drop();
        // A client that takes nothing for so long is as good as gone; that is not the engine's fault.
        if (due.state.kind === "relaying" && due.state.held) this.abort();
        else this.onFailure(due.failure);
        return;
      case "silence":
        due.state.relay.keepAlive(now);
        return;
      default:
        assertNever(due);
    }
  }

  #refuse(refusal: Refusal, headers: readonly string[]): void {
    const { shape, requestId } = this.#request;
    const reply = refusalReply(shape, refusal, requestId);
    const all = [...reply.headers, ...headers, ...this.#ownHeaders()];
    sendReply(this.#context.clock, this.#request, { ...reply, headers: all });
    this.#settle({ code: reply.status, outcome: "refused", detail: refusal.message });
  }

  #settle(ending: Ending): void {
    const state = this.#state;
    if (state.kind === "over") return;
    if (state.kind === "waiting" || state.kind === "relaying") this.#leave(state.replica);
    if (state.kind === "queued") {
      state.model.room.leave(this);
      state.model.queued -= 1;
      noteWait(this.#trace, state.since, this.#now());
    }
    if (state.kind === "sharing") state.cancel();
    if (this.#model !== undefined) this.#model.inFlight -= 1;
    this.#state = { kind: "over" };
    if (state.kind === "relaying") noteRelay(this.#trace, state.relay);
    const { accounts } = this.#context;
    const tokens = accounts.tokens(this.#trace, ending);
    this.#request.visit.leave(tokens.prompt + tokens.completion);
    accounts.settle(this.#trace, ending, tokens);
    this.#context.sweep.delete(this);
    this.#context.onSettled(this);
  }

  /** What it counts as should the router be killed now; undefined: no engine works on it. */
  soFar(): Omit<UsageRecord, "number"> | undefined {
    if (this.#state.kind === "relaying") noteProgress(this.#trace, this.#state.relay);
    return this.#trace.handedOverAt === undefined ? undefined : this.#context.accounts.soFar(this.#trace);
  }

  #leave(replica: Replica): void {
    this.#context.fleet.end(replica, this.#unread);
    this.#unread = 0;
  }

  #now(): Millis {
    return this.#context.clock.monotonic();
  }
}
