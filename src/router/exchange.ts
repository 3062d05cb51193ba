import { ERRORS } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import type { UsageRecord } from "../core/usage.ts";
import { admit, type Admission } from "../routing/admission.ts";
import { decideRetry, FAILURES, type RetryDecision } from "../routing/retry.ts";
import { Answering, type Turn } from "./answering.ts";
import { type Ending, newTrace, type Trace } from "./account.ts";
import { Attempt, type AttemptOwner, type Sending as ToReplica } from "./attempt.ts";
import type { ExchangeContext, ExchangeRequest } from "./context.ts";
import { lateUpload } from "./deadlines.ts";
import type { EngineFailure } from "./engine/connection.ts";
import { errorEvent, type Refusal } from "./error-body.ts";
import type { Sending, State, Try } from "./exchange-state.ts";
import type { Model, Replica } from "./fleet.ts";
import { HeldStream } from "./held-stream.ts";
import { enter } from "./keys/enter.ts";
import { noteFailure, noteLast, noteProgress, noteTry, noteWait } from "./note.ts";
import type { OpenBody } from "./open-body.ts";
import type { Question } from "./question.ts";
import { queueIsFull, waitedInVain } from "./queue-refusals.ts";
import { allAside, atOnce, engineFailed, type Later, noModel, notReady, unknownModel } from "./refusals.ts";
import type { Relay } from "./relay.ts";
import { drainUpload, sendRefusal } from "./reply.ts";
import { endedWell } from "./rescue/ended-well.ts";
import { KeptAnswer } from "./rescue/kept-answer.ts";
import { type HalfWay, notGoneOn, successorOf } from "./rescue/successor.ts";
import type { Listed } from "./roster.ts";
import type { EngineAsk } from "./translate/ask.ts";
import { receive, type Upload, type UploadListener } from "./upload.ts";
import { circleRefusal } from "./upstreams/via.ts";
import type { Waiter } from "./waiting-room.ts";

/**
 * One client's request, from its head to the end of its answer, over as many replicas as it takes. It owns its state and
 * is told of everything by events: of the upload, of its attempts at replicas, of the client's socket, of the clock.
 */
export class Exchange implements AttemptOwner, UploadListener, Listed, Waiter {
  readonly #context: ExchangeContext;
  readonly #request: ExchangeRequest;
  readonly #trace: Trace;
  #state: State;
  /** Kept until an answer begins: so long the request can be sent again. */
  #question: Question | undefined;
  #model: Model | undefined;
  /** As long as the question: who else could be asked. */
  #answering: Answering | undefined;
  /** Of a stream that waits, or has waited, for the first replica to start. */
  #held: HeldStream | undefined;
  /** Of the model's. */
  #tried: Replica[] = [];
  /** What the client has of a stream that another replica could go on with. */
  #kept: KeptAnswer | undefined;
  /** At the replica that has it now: that another's connection was stale says nothing of this one's. */
  #staleRetried = false;
  #lastFailure: EngineFailure | undefined;
  /** What the client still sends while an engine is chosen, and asked. */
  #rest: OpenBody | undefined;
  /** When something last came of the body. */
  #activeAt: Millis;
  place = -1;

  constructor(context: ExchangeContext, request: ExchangeRequest) {
    this.#context = context;
    this.#request = request;
    this.#trace = newTrace(request, request.req, context.clock.monotonic());
    this.#trace.span = context.tracer?.begin(request.req, request.path);
    this.#activeAt = this.#trace.startedAt;
    this.#state = { kind: "uploading" };
  }

  start(): void {
    const { req, visit } = this.#request;
    const refused = circleRefusal(req.headers, this.#context.fleet.cluster) ?? visit.peek();
    if (refused !== undefined) this.#refuse(refused);
    else receive(this.#request, this.#context.limits, this);
  }

  /** Nothing has been answered yet. */
  get isOpen(): boolean {
    if (this.#state.kind === "uploading") return true;
    const hasBegun = this.#state.kind === "asking" && this.#state.attempt.relay?.hasBegun === true;
    return this.#state.kind !== "over" && this.#rest?.isComing === true && !hasBegun;
  }

  /** Events of its answer are on their way. */
  get isStreaming(): boolean {
    return this.#state.kind === "asking" && this.#state.attempt.relay?.stream !== undefined;
  }

  onProgress(bytes: number): void {
    this.#activeAt = this.#now();
    this.#trace.bytesIn = bytes;
  }

  onRefused(refusal: Refusal): void {
    if (this.#state.kind === "over") return;
    if (this.#state.kind === "asking") this.#state.attempt.drop();
    if (this.isOpen) this.#refuse(atOnce(refusal));
    else this.abort();
  }

  onUpload(upload: Upload): void {
    if (this.#state.kind !== "uploading") return;
    this.#rest = upload.rest;
    this.#trace.uploadedAt = this.#now();
    const { model: field } = upload.fields;
    if (field.kind !== "name") {
      this.#refuse(atOnce(noModel(field)));
      return;
    }
    const forbidden = this.#request.visit.forbids(field.name);
    const model = forbidden === undefined ? this.#context.fleet.model(field.name) : undefined;
    if (model === undefined) this.#refuse(atOnce(forbidden?.refusal ?? unknownModel(field.name)));
    else this.#enter(model, upload);
  }

  #enter(model: Model, upload: Upload): void {
    const cancel = enter(this.#request.visit, {
      entered: this.#begin.bind(this, model, upload),
      refused: this.#refuse.bind(this),
    });
    if (cancel !== undefined) this.#state = { kind: "sharing", cancel };
  }

  #begin(asked: Model, upload: Upload): void {
    this.#trace.model = asked.name;
    this.#answering = new Answering(this.#context, this.#request, { asked, upload });
    const turn = this.#answering.first();
    if (turn === undefined) this.#refuse(atOnce(unknownModel(asked.name)));
    else this.#take(turn);
  }

  /** From now on it is the model's to answer. */
  #take({ model, question }: Turn): void {
    if (this.#model !== undefined) this.#model.inFlight -= 1;
    this.#model = model;
    this.#tried = [];
    this.#trace.profile = model.route.profile;
    model.inFlight += 1;
    this.#question = question;
    this.#dispatch(model, question);
  }

  /** Sends to the replica that is to have it; a failed attempt comes here again, and one that has waited for its turn. */
  #dispatch(model: Model, question: Question): void {
    const admission = this.#admit(model, question, this.#tried);
    if (admission.kind === "send") {
      if (this.#lastFailure !== undefined) this.#context.metrics.retried(this.#lastFailure.kind);
      const ask = question.asks.to(admission.to.route, admission.to.lacks);
      if (ask.ok) this.#try(model, admission.to, { question, ask: ask.value });
      else this.#refuse(atOnce(ask.error));
    } else if (admission.kind === "full" || (admission.kind === "none" && model.route.holds === true)) {
      this.#wait(model, question);
    } else if (this.#lastFailure !== undefined) {
      this.#elsewhere(model, this.#lastFailure);
    } else {
      this.#refuse(admission.kind === "aside" ? allAside(model.route, admission.wait) : notReady(model.route));
    }
  }

  /** None of the model's replicas is left that could be asked. */
  #elsewhere(model: Model, failure: EngineFailure): void {
    const turn = this.#answering?.instead(model);
    if (turn === undefined) this.#failed(failure);
    else this.#take(turn);
  }

  #admit({ replicas }: Model, { needsSlot, pick }: Question, tried: readonly Replica[]): Admission<Replica> {
    return admit({ replicas, tried, needsSlot, policy: this.#context.policy, context: pick }, this.#now());
  }

  /** For a slot nothing is sent to the client while it waits: the status is not known yet. For a start see HeldStream. */
  #wait(model: Model, { isStream }: Question): void {
    const { route, room } = model;
    const isCold = route.replicas.length === 0;
    if (!room.enter(this, this.#request.visit.key ?? "")) {
      this.#refuse(queueIsFull(route, room.expectedWait()));
      return;
    }
    model.queued += 1;
    const at = this.#now();
    this.#state = { kind: "queued", model, since: at };
    if (!isCold || !isStream) return;
    const every = this.#context.limits.coldComment;
    this.#held ??= new HeldStream(this.#request, this.ownHeaders.bind(this), { at, every });
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
    const { since, model } = this.#state;
    const { route, room } = model;
    this.#refuse(waitedInVain(route, millis(this.#now() - since), room.expectedWait()));
  }

  /** Sends to a replica that has not had it yet. */
  #try(model: Model, replica: Replica, { question, ask, rest }: Try): void {
    const sending = { model, replica, failed: this.#tried.length, policy: this.#context.policyName };
    noteTry(this.#trace, sending, this.#now());
    this.#staleRetried = false;
    this.#send(replica, question, { ask, fresh: false, rest });
  }

  #send(replica: Replica, { tokens, pick, hidesUsage }: Question, { ask, fresh, rest }: Sending): void {
    const of = { context: this.#context, request: this.#request, trace: this.#trace, owner: this };
    const load = { tokens, keys: pick.prompt.keys };
    const attempt = new Attempt(of, { replica, ask, load, fresh, hidesUsage, ...(rest && { rest }) });
    this.#state = { kind: "asking", attempt };
    attempt.start();
  }

  isAnotherFree(replica: Replica): boolean {
    if (this.#model === undefined || this.#question === undefined || this.#rest?.isRepeatable === false) return false;
    const isFree = this.#admit(this.#model, this.#question, [...this.#tried, replica]).kind === "send";
    return isFree || this.#answering?.hasOther(this.#model) === true;
  }

  ownHeaders(): readonly string[] {
    const { replica, attempts } = this.#trace;
    const own = replica === undefined ? [] : ["x-llmgw-replica", replica];
    own.push("x-llmgw-attempts", String(attempts), ...this.#request.visit.headers(), ...this.#request.extraHeaders);
    return own;
  }

  onBegun(): void {
    // There is no sending again now, and a prompt can be large.
    if (this.#kept !== undefined) return;
    this.#question = undefined;
    this.#answering = undefined;
  }

  keeps({ replica, ask }: ToReplica): KeptAnswer | undefined {
    const { rescues } = this.#context;
    const isAlone = (this.#model?.replicas.length ?? 0) < 2;
    this.#kept?.release();
    this.#kept = undefined;
    if (rescues !== undefined && !isAlone) this.#kept = KeptAnswer.of(ask, replica.route, rescues);
    return this.#kept;
  }

  onFurther(attempt: Attempt, ask: EngineAsk): void {
    if (this.#question === undefined) return;
    attempt.leave();
    this.#send(attempt.replica, this.#question, { ask, fresh: false });
  }

  onWhole(_attempt: Attempt, ending: Ending): void {
    if (ending.detail !== undefined) this.#context.metrics.cut(ending.outcome);
    this.#settle(ending);
  }

  onFailed(attempt: Attempt, failure: EngineFailure): void {
    const { health } = FAILURES[failure.kind];
    if (health !== undefined) attempt.replica.saw(health, this.#now());
    noteFailure(this.#trace, failure.detail);
    const { relay } = attempt;
    const decision = decideRetry(failure.kind, {
      reachedClient: relay?.hasBegun === true,
      canGoOn: this.#kept !== undefined,
      bodyRepeatable: this.#question !== undefined && this.#rest?.isRepeatable !== false,
      attempts: this.#trace.attempts,
      staleRetried: this.#staleRetried,
    });
    this.#leave();
    const whole = endedWell(this.#context, { relay, kept: this.#kept, trace: this.#trace });
    if (whole !== undefined) this.#settle(whole);
    else if (decision.kind === "sameReplica" && this.#question !== undefined) {
      this.#staleRetried = true;
      this.#context.metrics.retried(failure.kind);
      this.#send(attempt.replica, this.#question, { ...attempt.sending, fresh: true });
    } else if (relay?.hasBegun !== true) this.#again(attempt.replica, failure, decision);
    else this.#goOn(attempt.replica, { relay, failure, decision });
  }

  onStuck(): void {
    this.abort();
  }

  /** The client has nothing of an answer: another replica is asked, or it is told what went wrong. */
  #again(replica: Replica, failure: EngineFailure, decision: RetryDecision): void {
    this.#state = { kind: "deciding" };
    if (decision.kind === "fail" || this.#question === undefined || this.#model === undefined) {
      this.#failed(failure);
    } else {
      this.#lastFailure = failure;
      this.#tried.push(replica);
      this.#dispatch(this.#model, this.#question);
    }
  }

  /** The client has a part of the answer: another replica says the rest, or it breaks off. */
  #goOn(replica: Replica, { relay, failure, decision }: HalfWay): void {
    const [question, kept, model] = [this.#question, this.#kept, this.#model];
    if (decision.kind === "fail" || question === undefined || model === undefined || kept === undefined) {
      this.#brokeOff(replica, relay, failure);
      return;
    }
    this.#tried.push(replica);
    // Whoever has a part of the answer is not made to wait for a slot: engines have queues of their own.
    const next = successorOf(kept, this.#admit(model, { ...question, needsSlot: false }, this.#tried));
    if (!next.ok) {
      this.#brokeOff(replica, relay, notGoneOn(failure, next.error));
      return;
    }
    const { to, handover } = next.value;
    this.#context.metrics.retried(failure.kind);
    this.#trace.isPieced ||= !kept.isCounted;
    this.#try(model, to, { question, ask: handover.ask, rest: { relay, stream: handover.stream, kept } });
  }

  #failed(failure: EngineFailure): void {
    this.#refuse(atOnce(engineFailed(this.#trace.replica ?? "", failure, FAILURES[failure.kind].code)));
  }

  /** The client has a part of the answer and will get no more of it. */
  #brokeOff(replica: Replica, relay: Relay, failure: EngineFailure): void {
    const { code } = FAILURES[failure.kind];
    const { shape, requestId } = this.#request;
    const refusal = engineFailed(replica.id, failure, code);
    relay.breakOff(errorEvent(shape, refusal, requestId), refusal);
    this.#context.metrics.cut(failure.kind);
    this.#settle({ code: ERRORS[code].http, outcome: failure.kind, detail: failure.detail });
  }

  /** The client's connection is gone, whatever state this is in. */
  onClientGone(): void {
    const state = this.#state;
    if (state.kind === "over") return;
    const at = state.kind === "asking" ? state.attempt.kind : state.kind;
    if (at === "relaying") this.#context.metrics.cut("client_gone");
    if (state.kind === "asking") state.attempt.drop();
    this.#settle({ code: ERRORS.CLIENT_GONE.http, outcome: "client_gone", detail: at });
  }

  /** The router stops and waits no longer. */
  abort(): void {
    this.onClientGone();
    this.#request.res.destroy();
  }

  onTick(now: Millis): void {
    if (this.#state.kind === "asking") this.#state.attempt.onTick(now);
    if (this.#state.kind === "queued") this.#held?.onTick(now);
    if (this.#state.kind !== "uploading" && !(this.isOpen && this.#rest?.waitsForClient === true)) return;
    const late = lateUpload(this.#activeAt, this.#context.limits, now);
    if (late !== undefined) this.onRefused(late);
  }

  #refuse({ refusal, headers }: Later): void {
    if (this.#held !== undefined && this.#request.res.headersSent) this.#held.fail(refusal);
    else sendRefusal(this.#context.clock, this.#request, { refusal, headers: [...headers, ...this.ownHeaders()] });
    this.#settle({ code: ERRORS[refusal.code].http, outcome: "refused", detail: refusal.message });
  }

  #settle(ending: Ending): void {
    const state = this.#state;
    if (state.kind === "over") return;
    this.#leave();
    if (state.kind === "queued") {
      state.model.room.leave(this);
      state.model.queued -= 1;
      noteWait(this.#trace, state.since, this.#now());
    }
    if (state.kind === "sharing") state.cancel();
    if (this.#model !== undefined) this.#model.inFlight -= 1;
    this.#state = { kind: "over" };
    if (state.kind === "asking") noteLast(this.#trace, state.attempt.relay);
    this.#kept?.release();
    this.#rest?.abandon();
    if (this.#rest !== undefined) drainUpload(this.#context, this.#request);
    const { accounts } = this.#context;
    const tokens = accounts.tokens(this.#trace, ending);
    this.#request.visit.leave(tokens.prompt + tokens.completion);
    accounts.settle(this.#trace, ending, tokens);
    this.#context.onSettled(this, this.#request.socket);
  }

  /** What it counts as should the router be killed now; undefined: no engine works on it. */
  soFar(): Omit<UsageRecord, "number"> | undefined {
    const relay = this.#state.kind === "asking" ? this.#state.attempt.relay : undefined;
    if (relay !== undefined) noteProgress(this.#trace, relay);
    return this.#trace.handedOverAt === undefined ? undefined : this.#context.accounts.soFar(this.#trace);
  }

  #leave(): void {
    if (this.#state.kind === "asking") this.#state.attempt.leave();
  }

  #now(): Millis {
    return this.#context.clock.monotonic();
  }
}
