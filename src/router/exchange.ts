import { ERRORS } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import { assertNever } from "../core/result.ts";
import { admit } from "../routing/admission.ts";
import { readRetryAfter } from "../routing/retry-after.ts";
import { decideRetry, FAILURES } from "../routing/retry.ts";
import { type Ending, newTrace, type Trace } from "./account.ts";
import type { ExchangeContext, ExchangeRequest } from "./context.ts";
import type { AnswerListener, EngineFailure } from "./engine/connection.ts";
import { type ResponseHead, valuesOf } from "./engine/response-head.ts";
import { errorEvent, type Refusal } from "./error-body.ts";
import type { Relaying, State, Waiting } from "./exchange-state.ts";
import type { Model, Replica } from "./fleet.ts";
import { forwardedHeaders, requestHead } from "./forward-head.ts";
import { tokensOf } from "./keys/charge.ts";
import { allAside, engineFailed, noModel, notReady, unknownModel } from "./refusals.ts";
import { isEventStream, relayedHeaders } from "./relay-headers.ts";
import { Relay } from "./relay.ts";
import { refusalReply, sendReply } from "./reply.ts";
import type { Timed } from "./sweep.ts";
import { receive, type Upload, type UploadListener } from "./upload.ts";

/**
 * One client's request, from its head to the end of its answer, over as many replicas as it takes. It owns its state and
 * is told of everything by events: of the upload, of the engine's connection, of the client's socket, of the clock.
 */
export class Exchange implements AnswerListener, UploadListener, Timed {
  readonly #context: ExchangeContext;
  readonly #request: ExchangeRequest;
  readonly #trace: Trace;
  #state: State;
  /** Kept until an answer begins: so long the request can be sent again. */
  #upload: Upload | undefined;
  #model: Model | undefined;
  #forwarded: string | undefined;
  readonly #tried: Replica[] = [];
  #staleRetried = false;
  #lastFailure: EngineFailure | undefined;

  constructor(context: ExchangeContext, request: ExchangeRequest) {
    this.#context = context;
    this.#request = request;
    this.#trace = newTrace(request, request.req, context.clock.monotonic());
    this.#state = { kind: "uploading", activeAt: this.#trace.startedAt };
  }

  start(): void {
    this.#context.sweep.add(this);
    const over = this.#request.visit.peek();
    if (over !== undefined) this.#refuse(over.refusal, over.headers);
    else receive(this.#request.req, this.#context.limits.bodyBytes, this);
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
    this.#upload = upload;
    this.#trace.bytesIn = upload.bytes;
    this.#trace.uploadedAt = this.#now();
    const { model: field } = upload.fields;
    if (field.kind !== "name") {
      this.#refuse(noModel(field), []);
      return;
    }
    const model = this.#entered(field.name);
    if (model === undefined) return;
    this.#model = model;
    this.#trace.model = model.name;
    model.inFlight += 1;
    this.#dispatch(model, upload);
  }

  /** The model, with a slot of the key's taken for it; undefined: the request is refused. */
  #entered(name: string): Model | undefined {
    const { visit } = this.#request;
    const forbidden = visit.forbids(name);
    const model = forbidden === undefined ? this.#context.fleet.model(name) : undefined;
    if (model === undefined) {
      this.#refuse(forbidden?.refusal ?? unknownModel(name), []);
      return undefined;
    }
    const over = visit.enter();
    if (over === undefined) return model;
    this.#refuse(over.refusal, over.headers);
    return undefined;
  }

  /** Sends to the replica that is to have it; a failed attempt comes here again. */
  #dispatch(model: Model, upload: Upload): void {
    const { policy, random } = this.#context;
    const admission = admit({ replicas: model.replicas, tried: this.#tried, policy }, this.#now(), random);
    if (admission.kind === "send") {
      if (this.#lastFailure !== undefined) this.#context.metrics.retried(this.#lastFailure.kind);
      this.#trace.attempts += 1;
      this.#send(admission.to, upload, false);
    } else if (this.#lastFailure !== undefined) {
      this.#failed(this.#lastFailure);
    } else {
      const later = admission.kind === "aside" ? allAside(model.route, admission.wait) : notReady(model.route);
      this.#refuse(later.refusal, later.headers);
    }
  }

  #send(replica: Replica, upload: Upload, fresh: boolean): void {
    const { req, target, requestId } = this.#request;
    const now = this.#now();
    this.#forwarded ??= forwardedHeaders(req.rawHeaders);
    const head = requestHead({
      replica: replica.route,
      target,
      requestId,
      bodyBytes: upload.bytes,
      forwarded: this.#forwarded,
    });
    this.#trace.replica = replica.id;
    this.#context.fleet.begin(replica, now);
    const state: Waiting = { kind: "waiting", replica, connection: undefined, connected: false, since: now };
    this.#state = state;
    state.connection = replica.pool.send({ head, body: upload.chunks }, this, fresh);
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
    const failure = this.#failureIn(head, state.replica);
    if (failure !== undefined) {
      state.connection?.drop();
      this.#attemptFailed(state, failure);
      return;
    }
    const now = this.#now();
    state.replica.saw("answered", now);
    const { replica, connection } = state;
    const relay = this.#beginRelay(head, replica, now);
    this.#state = { kind: "relaying", replica, connection, relay, activeAt: now, held: false };
  }

  /** Answers that are not for the client to see. */
  #failureIn({ status }: ResponseHead, replica: Replica): EngineFailure | undefined {
    // Following it would carry the request, and the engine's key, to an address that nobody configured.
    if (status >= 300 && status < 400) return { kind: "garbage", detail: `it redirects with ${String(status)}` };
    if (status === 401) return { kind: "keyRefused", detail: "401" };
    if ((status === 429 || status === 503) && this.#isAnotherFree(replica))
      return { kind: "busy", detail: String(status) };
    return undefined;
  }

  #isAnotherFree(replica: Replica): boolean {
    const { policy, random } = this.#context;
    const replicas = this.#model?.replicas ?? [];
    return admit({ replicas, tried: [...this.#tried, replica], policy }, this.#now(), random).kind === "send";
  }

  #beginRelay(head: ResponseHead, replica: Replica, now: Millis): Relay {
    const isStream = head.status < 300 && isEventStream(head);
    const headers = relayedHeaders(head, replica.route, isStream);
    const [retryAfter] = valuesOf(head.headers, "retry-after");
    const seconds = retryAfter === undefined ? undefined : readRetryAfter(retryAfter, this.#context.clock.now());
    if (seconds !== undefined) headers.push("retry-after", String(seconds));
    headers.push("x-request-id", this.#request.requestId, ...this.#ownHeaders());
    return new Relay(this.#request.res, { status: head.status, headers, isStream }, now);
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
    this.#state.relay.flush();
    // The client has a part of the answer: there is no sending again, and a prompt can be large.
    this.#upload = undefined;
  }

  onEnd(last: Buffer | undefined): void {
    const state = this.#state;
    if (state.kind !== "relaying") return;
    const now = this.#now();
    state.relay.end(last, now);
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

  #attemptFailed({ replica }: Waiting | Relaying, failure: EngineFailure): void {
    const { fleet } = this.#context;
    fleet.end(replica);
    this.#state = { kind: "deciding" };
    const { health } = FAILURES[failure.kind];
    if (health !== undefined) replica.saw(health, this.#now());
    const decision = decideRetry(failure.kind, {
      reachedClient: false,
      bodyRepeatable: true,
      attempts: this.#trace.attempts,
      staleRetried: this.#staleRetried,
    });
    if (decision.kind === "fail" || this.#upload === undefined || this.#model === undefined) {
      this.#failed(failure);
    } else if (decision.kind === "sameReplica") {
      this.#staleRetried = true;
      this.#context.metrics.retried(failure.kind);
      this.#send(replica, this.#upload, true);
    } else {
      this.#lastFailure = failure;
      this.#tried.push(replica);
      this.#dispatch(this.#model, this.#upload);
    }
  }

  #failed(failure: EngineFailure): void {
    this.#refuse(engineFailed(this.#trace.replica ?? "", failure, FAILURES[failure.kind].code), []);
  }

  /** The client has a part of the answer and will get no more of it. */
  #brokeOff(state: Relaying, failure: EngineFailure): void {
    const { code, health } = FAILURES[failure.kind];
    if (health !== undefined) state.replica.saw(health, this.#now());
    const { shape, requestId } = this.#request;
    const refusal = engineFailed(state.replica.id, failure, code);
    state.relay.breakOff(errorEvent(shape, refusal, requestId));
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
    const state = this.#state;
    switch (state.kind) {
      case "uploading":
        this.#tickUpload(state.activeAt, now);
        return;
      case "waiting":
        this.#tickWaiting(state, now);
        return;
      case "relaying":
        this.#tickRelaying(state, now);
        return;
      case "deciding":
      case "over":
        return;
      default:
        assertNever(state);
    }
  }

  #tickUpload(activeAt: Millis, now: Millis): void {
    const { uploadIdle } = this.#context.limits;
    if (now - activeAt < uploadIdle) return;
    this.#refuse(
      { code: "BAD_REQUEST", message: `The rest of the body did not come within ${inSeconds(uploadIdle)}.` },
      [],
    );
  }

  #tickWaiting(state: Waiting, now: Millis): void {
    const { connect, firstByte } = this.#context.limits;
    if (now - state.since < (state.connected ? firstByte : connect)) return;
    state.connection?.drop();
    const failure: EngineFailure = state.connected
      ? { kind: "firstByteTimeout", detail: `no answer within ${inSeconds(firstByte)}` }
      : { kind: "refused", detail: `no connection within ${inSeconds(connect)}` };
    this.#attemptFailed(state, failure);
  }

  #tickRelaying(state: Relaying, now: Millis): void {
    const { idle, streamComment } = this.#context.limits;
    if (now - state.activeAt >= idle) {
      state.connection?.drop();
      // A client that takes nothing for so long is as good as gone; that is not the engine's fault.
      if (state.held) this.abort();
      else this.#brokeOff(state, { kind: "idleTimeout", detail: `nothing came for ${inSeconds(idle)}` });
    } else if (now - state.relay.sentAt >= streamComment) state.relay.comment(now);
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
    if (state.kind === "waiting" || state.kind === "relaying") this.#context.fleet.end(state.replica);
    if (this.#model !== undefined) this.#model.inFlight -= 1;
    this.#state = { kind: "over" };
    if (state.kind === "relaying") {
      this.#trace.firstTokenAt = state.relay.firstTokenAt;
      this.#trace.bytesOut = state.relay.bytesOut;
      this.#trace.usage = state.relay.usage();
    }
    this.#request.visit.leave(tokensOf(this.#trace, ending));
    this.#context.accounts.settle(this.#trace, ending, this.#now());
    this.#context.sweep.delete(this);
    this.#context.onSettled(this);
  }

  #now(): Millis {
    return this.#context.clock.monotonic();
  }
}

const inSeconds = (limit: Millis): string => `${String(millis(Math.round(limit / 100) / 10))} s`;
