import type { Duplex } from "node:stream";
import { ERRORS } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import { assertNever } from "../core/result.ts";
import type { UsageRecord } from "../core/usage.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { ROUTING_POLICIES, type RoutingPolicyName } from "../routing/policies.ts";
import { Accounts, type UsageSink } from "./account.ts";
import { ClientSockets } from "./client-sockets.ts";
import type { Carried, HttpExchange } from "./client/http-exchange.ts";
import { ClientPort, type Http1Reader, type PortAddress } from "./client/port.ts";
import { StartQueue } from "./client/start-queue.ts";
import type { ExchangeContext } from "./context.ts";
import { type AllowedOrigins, preflightHeaders } from "./cors.ts";
import { echoedHeaders } from "./echoed-headers.ts";
import {
  type Endpoint,
  type EngineEndpoint,
  findEndpoint,
  type KeyedEndpoint,
  knownPath,
  methodsOf,
  shapeOf,
} from "./endpoints.ts";
import type { ErrorShape, Refusal } from "./error-body.ts";
import { Exchange } from "./exchange.ts";
import { Fleet } from "./fleet.ts";
import { Gate, type RouterAuth } from "./keys/gate.ts";
import type { KeyBook } from "./keys/key-book.ts";
import type { Visit } from "./keys/visit.ts";
import type { RouterLimits } from "./limits.ts";
import { RouterMetrics } from "./metrics.ts";
import { decodeModelName, modelBody, modelListBody, pageOf } from "./models.ts";
import { unknownModel, unknownUrl } from "./refusals.ts";
import { refusalReply, type Reply, sendContinue, sendReply } from "./reply.ts";
import { requestIdOf } from "./request-id.ts";
import { RescueRoom } from "./rescue/room.ts";
import { Roster } from "./roster.ts";
import { Sweep, type Timed } from "./sweep.ts";
import type { RequestTracer } from "./tracing.ts";

export interface RouterServerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly limits: RouterLimits;
  readonly policy: RoutingPolicyName;
  /** Streams are made to count their tokens; the client sees the counts only when it asked for them. */
  readonly asksUsage: boolean;
  /** Whether a stream goes on at another replica when the one that sent it dies. */
  readonly rescues: boolean;
  readonly cors: AllowedOrigins;
  readonly auth: RouterAuth;
  readonly http1: Http1Reader;
  /** PEM texts. Without them the router speaks plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Takes the record of each request. */
  readonly usage: UsageSink;
  readonly keys: KeyBook;
  readonly tracer: RequestTracer | undefined;
  /** How long no control plane has been heard by which routes could be checked; undefined: one is there. */
  readonly away?: () => Millis | undefined;
}

/** A request before it is known who answers it. */
interface Asked extends HttpExchange {
  readonly requestId: string;
  readonly path: string;
  readonly target: string;
  readonly shape: ErrorShape;
  readonly extraHeaders: readonly string[];
}

/** The OpenAI-compatible server in front of the fleet. */
export class RouterServer {
  readonly fleet: Fleet;
  readonly keys: KeyBook;
  readonly metrics: RouterMetrics;
  readonly #options: RouterServerOptions;
  readonly #port: ClientPort;
  readonly #sweep: Sweep;
  readonly #sockets = new ClientSockets();
  readonly #exchanges = new Roster<Exchange>();
  readonly #context: ExchangeContext;
  readonly #gate: Gate;
  readonly #starts: StartQueue;
  #isStopping = false;

  constructor(options: RouterServerOptions) {
    this.#options = options;
    const { clock, limits, random, logger } = options;
    this.keys = options.keys;
    this.fleet = new Fleet(clock, limits);
    this.#gate = new Gate(options.auth, this.keys, clock);
    this.metrics = new RouterMetrics(this.fleet);
    this.#sweep = new Sweep(clock, limits.tick);
    this.#context = {
      fleet: this.fleet,
      policy: ROUTING_POLICIES[options.policy].build({}),
      policyName: options.policy,
      random,
      clock,
      limits,
      asksUsage: options.asksUsage,
      rescues: options.rescues ? new RescueRoom() : undefined,
      metrics: this.metrics,
      tracer: options.tracer,
      accounts: new Accounts({ metrics: this.metrics, logger, clock, sink: options.usage }),
      onSettled: this.#settled.bind(this),
    };
    this.#starts = new StartQueue(clock);
    this.#port = new ClientPort({
      clock,
      starts: this.#starts,
      logger,
      limits,
      sweep: this.#sweep,
      http1: options.http1,
      tls: options.tls,
      onRequest: this.#onRequest.bind(this),
      onBroken: this.#onBroken.bind(this),
    });
  }

  /** Resolves with the port in use. Rejects when the address cannot be listened on. */
  async listen(address: PortAddress): Promise<number> {
    const port = await this.#port.listen(address);
    this.#sweep.add(this.#ticking);
    return port;
  }

  /** Shows another certificate to connections that are made from now on. Nothing, when the router speaks no TLS. */
  renewTls(certificate: { readonly cert: string; readonly key: string }): void {
    this.#port.renewTls(certificate);
  }

  readonly #ticking: Timed = {
    onTick: (now) => {
      this.fleet.tick(now);
      let streams = 0;
      for (const exchange of this.#exchanges.all()) {
        exchange.onTick(now);
        if (exchange.isStreaming) streams += 1;
      }
      this.#starts.streams = streams;
    },
  };

  /** Takes no more connections, lets what runs end within the limit, then cuts it off. */
  async stop(): Promise<void> {
    const { clock, limits } = this.#options;
    this.#isStopping = true;
    const deadline = clock.monotonic() + limits.stop;
    const closed = this.#port.close();
    const look = (): void => {
      if (clock.monotonic() >= deadline) this.#cutOff();
      else this.#port.closeIdle();
      cancel = clock.after(limits.tick, look);
    };
    let cancel: (() => void) | undefined;
    look();
    await closed;
    cancel?.();
    this.#sweep.stop();
    this.fleet.close();
  }

  /** The second time the rest goes too: clients of HTTP/2 are told first that their answers end here. */
  #cutOff(): void {
    const exchanges = this.#exchanges.all();
    for (const exchange of exchanges) exchange.abort();
    if (exchanges.length === 0) this.#port.closeAll();
  }

  /** Of each request that an engine works on, what is known so far. */
  running(): readonly Omit<UsageRecord, "number">[] {
    return this.#exchanges.all().flatMap((exchange) => exchange.soFar() ?? []);
  }

  /** `refusal`: what is wrong with its head. */
  #onRequest(http: HttpExchange, refusal?: Refusal): Carried | undefined {
    const { req, body, res, socket, waitsForContinue } = http;
    if (this.#isStopping) res.closeAfter?.();
    const { path, target } = splitTarget(req.url ?? "/");
    const requestId = requestIdOf(req.headers["x-request-id"]);
    const shape = shapeOf(path, req.headers);
    const extraHeaders = echoedHeaders({ headers: req.headers, shape, requestId }, this.#options.cors);
    const asked: Asked = { req, body, res, socket, waitsForContinue, path, target, requestId, shape, extraHeaders };
    const endpoint = findEndpoint(path);
    if (refusal !== undefined || endpoint === undefined) {
      this.#refuse(asked, refusal ?? unknownUrl(path));
      return undefined;
    }
    if (req.method === "OPTIONS") this.#preflight(asked, endpoint);
    else if (!methodsOf(endpoint).includes(req.method ?? "")) this.#refuseMethod(asked, endpoint);
    else return this.#answer(asked, endpoint);
    return undefined;
  }

  #answer(asked: Asked, endpoint: Endpoint): Carried | undefined {
    switch (endpoint.kind) {
      case "engine":
      case "models":
      case "model":
        return this.#answerByKey(asked, endpoint);
      case "health":
        this.#reply(asked, 200, '{"status":"ok"}');
        return undefined;
      case "readiness":
        this.#readiness(asked);
        return undefined;
      case "metrics":
        void this.#metricsText(asked);
        return undefined;
      default:
        return assertNever(endpoint);
    }
  }

  #answerByKey(asked: Asked, endpoint: KeyedEndpoint): Carried | undefined {
    const entered = this.#gate.enter(asked.req.headers);
    if (!entered.ok) {
      const { refusal, headers } = entered.error;
      this.metrics.turnedAway(ERRORS[refusal.code].http);
      this.#refuse(asked, refusal, headers);
    } else if (endpoint.kind === "engine") {
      return this.#exchange(asked, endpoint, entered.value);
    } else if (endpoint.kind === "models") {
      const routes = [...this.fleet.models()].map(({ route }) => route);
      const seen = routes.filter(({ name }) => entered.value.mayAsk(name));
      this.#reply(asked, 200, modelListBody(seen, pageOf(asked.target)));
    } else this.#model(asked, endpoint.name, entered.value);
    return undefined;
  }

  #exchange(asked: Asked, endpoint: EngineEndpoint, visit: Visit): Carried {
    const { req, body, res, socket, waitsForContinue } = asked;
    const { path, target, requestId, shape, extraHeaders } = asked;
    // Written out: copies by spreading are slow, and this is made for each request.
    const http = {
      req,
      body,
      res,
      socket,
      waitsForContinue,
      path,
      target,
      requestId,
      shape,
      extraHeaders,
      endpoint,
      visit,
    };
    const exchange = new Exchange(this.#context, http);
    this.#exchanges.add(exchange);
    if (socket !== undefined) this.#sockets.add(socket, exchange);
    exchange.start();
    if (waitsForContinue && exchange.isOpen) sendContinue(res);
    return exchange;
  }

  #settled(exchange: Exchange, socket: HttpExchange["socket"]): void {
    this.#exchanges.delete(exchange);
    if (socket !== undefined) this.#sockets.delete(socket, exchange);
  }

  #model(asked: Asked, escaped: string, visit: Visit): void {
    const name = decodeModelName(escaped);
    const model = name === undefined ? undefined : this.fleet.model(name);
    const forbidden = name === undefined ? undefined : visit.forbids(name.slice(0, 200));
    if (name === undefined)
      this.#refuse(asked, { code: "BAD_REQUEST", message: "The model's name holds a broken %-escape." });
    else if (forbidden !== undefined) this.#refuse(asked, forbidden.refusal);
    else if (model === undefined) this.#refuse(asked, unknownModel(name.slice(0, 200)));
    else this.#reply(asked, 200, modelBody(model.route));
  }

  #readiness(asked: Asked): void {
    const reason = this.notReady();
    if (reason === undefined) {
      this.#reply(asked, 200, this.#readyBody());
      return;
    }
    // Names of models are told to those only who may know them.
    const models = this.#gate.asksForKeys ? [] : [...this.fleet.models()];
    const waiting = models.map(({ name, route }) => `${name}: ${route.waitingFor}`);
    this.#reply(asked, 503, JSON.stringify({ status: "not ready", reason, waiting }));
  }

  /** Why no request could be answered; undefined: some could. */
  notReady(): string | undefined {
    const isServing = [...this.fleet.models()].some(
      ({ replicas, route }) => replicas.length > 0 || route.holds === true,
    );
    if (isServing) return this.#gate.isReady ? undefined : "no keys from the control plane yet";
    return this.fleet.revision === undefined ? "no routes from the control plane yet" : "no model has a ready replica";
  }

  #readyBody(): string {
    const away = this.#options.away?.();
    if (away === undefined) return '{"status":"ready"}';
    return JSON.stringify({ status: "ready", control_plane: "away", age_seconds: Math.round(away / 1000) });
  }

  async #metricsText(asked: Asked): Promise<void> {
    if (this.#gate.asksForKeys) {
      const message =
        "With keys asked for, the numbers are at the control plane's port, or on metrics_listen of a router alone.";
      this.#refuse(asked, { code: "UNKNOWN_URL", message });
      return;
    }
    const { res } = asked;
    const text = await this.metrics.text();
    res.writeHead(200, ["content-type", this.metrics.registry.contentType]);
    res.end(text);
  }

  #preflight({ req, res }: Asked, endpoint: Endpoint): void {
    const methods = [...methodsOf(endpoint), "OPTIONS"];
    const { origin, "access-control-request-headers": requestedHeaders } = req.headers;
    const headers = preflightHeaders(this.#options.cors, { origin, requestedHeaders, methods });
    res.writeHead(204, ["allow", methods.join(", "), ...headers]);
    res.end();
  }

  #refuseMethod(asked: Asked, endpoint: Endpoint): void {
    const allow = [...methodsOf(endpoint), "OPTIONS"].join(", ");
    const message = `${asked.path.slice(0, 200)} takes ${allow}, not ${asked.req.method ?? ""}.`;
    this.#refuse(asked, { code: "METHOD_NOT_ALLOWED", message }, ["allow", allow]);
  }

  #refuse(asked: Asked, refusal: Refusal, headers: readonly string[] = []): void {
    const reply = refusalReply(asked.shape, refusal, asked.requestId);
    this.#send(asked, { ...reply, headers: [...reply.headers, ...headers, ...asked.extraHeaders] });
  }

  #reply(asked: Asked, status: number, body: string): void {
    this.#send(asked, { status, body, headers: ["x-request-id", asked.requestId, ...asked.extraHeaders] });
  }

  #send(asked: Asked, reply: Reply): void {
    sendReply(this.#options.clock, asked, reply);
    const { requestId, path, req } = asked;
    const line = { request_id: requestId, method: req.method, path: path.slice(0, 200), code: reply.status };
    if (reply.status === 200 || reply.status === 503) this.#options.logger.debug(line, "request");
    else this.#options.logger.info(line, "request");
  }

  /** Whose body it is that makes no sense is refused; behind an answer that has begun nothing more can be said. */
  #onBroken(socket: Duplex, hasEnded: boolean): boolean {
    const carried = this.#sockets.on(socket);
    const [uploading] = carried;
    if (uploading === undefined) return false;
    if (hasEnded || carried.some((exchange) => !exchange.isOpen)) socket.destroy();
    else
      uploading.onRefused({ code: "BAD_REQUEST", message: "The request's body is not framed as HTTP/1.1 asks for." });
    return true;
  }
}

/** A request's target may be a whole URL; the path ends at the query. */
function splitTarget(url: string): { readonly path: string; readonly target: string } {
  const target = url.startsWith("/") ? url : pathOfUrl(url);
  const query = target.indexOf("?");
  return { path: knownPath(query === -1 ? target : target.slice(0, query)), target };
}

function pathOfUrl(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? "" : parsed.pathname + parsed.search;
}
