import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Duplex } from "node:stream";
import { Server as TlsServer } from "node:tls";
import { type ErrorCode, ERRORS } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import { assertNever } from "../core/result.ts";
import type { UsageRecord } from "../core/usage.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { ROUTING_POLICIES, type RoutingPolicyName } from "../routing/policies.ts";
import { Accounts, type UsageSink } from "./account.ts";
import { ClientSockets } from "./client-sockets.ts";
import type { ExchangeContext, ExchangeRequest } from "./context.ts";
import { type AllowedOrigins, preflightHeaders } from "./cors.ts";
import { echoedHeaders } from "./echoed-headers.ts";
import { type Endpoint, findEndpoint, type KeyedEndpoint, methodsOf, shapeOf } from "./endpoints.ts";
import { errorBody, type ErrorShape, type Refusal } from "./error-body.ts";
import { Exchange } from "./exchange.ts";
import { Fleet } from "./fleet.ts";
import { Gate, type RouterAuth } from "./keys/gate.ts";
import type { KeyBook } from "./keys/key-book.ts";
import type { Visit } from "./keys/visit.ts";
import type { RouterLimits } from "./limits.ts";
import { RouterMetrics } from "./metrics.ts";
import { decodeModelName, modelBody, modelListBody, pageOf } from "./models.ts";
import { unknownModel, unknownUrl } from "./refusals.ts";
import { type HttpExchange, refusalReply, type Reply, sendContinue, sendReply } from "./reply.ts";
import { RescueRoom } from "./rescue/room.ts";
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
  /** PEM texts. Without them the router speaks plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Takes the record of each request. */
  readonly usage: UsageSink;
  readonly keys: KeyBook;
  readonly tracer: RequestTracer | undefined;
  /** How long no control plane has been heard by which routes could be checked; undefined: one is there. */
  readonly away?: () => Millis | undefined;
}

export interface RouterAddress {
  readonly host: string;
  readonly port: number;
  /** With other processes that say so too: each gets a part of the connections. */
  readonly isShared?: boolean;
}

/** A request before it is known who answers it. */
interface Asked extends HttpExchange {
  readonly requestId: string;
  readonly path: string;
  readonly target: string;
  readonly shape: ErrorShape;
  readonly extraHeaders: readonly string[];
}

const SANE_REQUEST_ID = /^[\w.-]{1,128}$/;

/** The OpenAI-compatible server in front of the fleet. */
export class RouterServer {
  readonly fleet: Fleet;
  readonly keys: KeyBook;
  readonly metrics: RouterMetrics;
  readonly #options: RouterServerOptions;
  readonly #server: Server;
  readonly #sweep: Sweep;
  readonly #sockets = new ClientSockets();
  readonly #exchanges = new Map<Exchange, IncomingMessage["socket"]>();
  readonly #context: ExchangeContext;
  readonly #gate: Gate;
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
      sweep: this.#sweep,
      metrics: this.metrics,
      tracer: options.tracer,
      accounts: new Accounts({ metrics: this.metrics, logger, clock, sink: options.usage }),
      onSettled: (exchange) => {
        this.#settled(exchange);
      },
    };
    this.#server = this.#createServer();
  }

  #createServer(): Server {
    const { limits, tls } = this.#options;
    const options = {
      maxHeaderSize: limits.headerBytes,
      keepAliveTimeout: limits.clientIdle,
      headersTimeout: limits.headTime,
      connectionsCheckingInterval: Math.max(50, limits.headTime / 10),
      // A slow upload that keeps moving is no fault; one that stops is noticed by its exchange.
      requestTimeout: 0,
    };
    const server = tls === undefined ? createServer(options) : createTlsServer({ ...options, ...tls });
    server.on("request", (req, res) => {
      this.#onRequest({ req, res }, false);
    });
    server.on("checkContinue", (req: IncomingMessage, res: ServerResponse) => {
      this.#onRequest({ req, res }, true);
    });
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      this.#onClientError(error, socket);
    });
    return server;
  }

  /** Resolves with the port in use. Rejects when the address cannot be listened on. */
  listen({ host, port, isShared = false }: RouterAddress): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, reusePort: isShared }, () => {
        this.#server.off("error", reject);
        this.#sweep.add(this.#pruning);
        const address = this.#server.address();
        resolve(address !== null && typeof address === "object" ? address.port : port);
      });
    });
  }

  /** Shows another certificate to connections that are made from now on. Nothing, when the router speaks no TLS. */
  renewTls({ cert, key }: { readonly cert: string; readonly key: string }): void {
    if (this.#server instanceof TlsServer) this.#server.setSecureContext({ cert, key });
  }

  readonly #pruning: Timed = {
    onTick: (now) => {
      this.fleet.tick(now);
    },
  };

  /** Takes no more connections, lets what runs end within the limit, then cuts it off. */
  async stop(): Promise<void> {
    const { clock, limits } = this.#options;
    this.#isStopping = true;
    const deadline = clock.monotonic() + limits.stop;
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    const look = (): void => {
      const isOver = clock.monotonic() >= deadline;
      if (isOver) for (const exchange of [...this.#exchanges.keys()]) exchange.abort();
      if (isOver) this.#server.closeAllConnections();
      else this.#server.closeIdleConnections();
      cancel = clock.after(limits.tick, look);
    };
    let cancel: (() => void) | undefined;
    look();
    await closed;
    cancel?.();
    this.#sweep.stop();
    this.fleet.close();
  }

  /** Of each request that an engine works on, what is known so far. */
  running(): readonly Omit<UsageRecord, "number">[] {
    return [...this.#exchanges.keys()].flatMap((exchange) => exchange.soFar() ?? []);
  }

  #onRequest(http: HttpExchange, waitsForContinue: boolean): void {
    const { req, res } = http;
    if (this.#isStopping) res.shouldKeepAlive = false;
    const { path, target } = splitTarget(req.url ?? "/");
    const requestId = requestIdOf(req.headers["x-request-id"]);
    const shape = shapeOf(path, req.headers);
    const extraHeaders = echoedHeaders({ headers: req.headers, shape, requestId }, this.#options.cors);
    const asked: Asked = { ...http, path, target, requestId, shape, extraHeaders };
    const endpoint = findEndpoint(path);
    if (endpoint === undefined) {
      this.#refuse(asked, unknownUrl(path));
      return;
    }
    if (req.method === "OPTIONS") this.#preflight(asked, endpoint);
    else if (!methodsOf(endpoint).includes(req.method ?? "")) this.#refuseMethod(asked, endpoint);
    else this.#answer(asked, endpoint, waitsForContinue);
  }

  #answer(asked: Asked, endpoint: Endpoint, waitsForContinue: boolean): void {
    switch (endpoint.kind) {
      case "engine":
      case "models":
      case "model":
        this.#answerByKey(asked, endpoint, waitsForContinue);
        return;
      case "health":
        this.#reply(asked, 200, '{"status":"ok"}');
        return;
      case "readiness":
        this.#readiness(asked);
        return;
      case "metrics":
        void this.#metricsText(asked);
        return;
      default:
        assertNever(endpoint);
    }
  }

  #answerByKey(asked: Asked, endpoint: KeyedEndpoint, waitsForContinue: boolean): void {
    const entered = this.#gate.enter(asked.req.headers);
    if (!entered.ok) {
      const { refusal, headers } = entered.error;
      this.metrics.turnedAway(ERRORS[refusal.code].http);
      this.#refuse(asked, refusal, headers);
    } else if (endpoint.kind === "engine") {
      this.#exchange({ ...asked, endpoint, visit: entered.value }, waitsForContinue);
    } else if (endpoint.kind === "models") {
      const routes = [...this.fleet.models()].map(({ route }) => route);
      const seen = routes.filter(({ name }) => entered.value.mayAsk(name));
      this.#reply(asked, 200, modelListBody(seen, pageOf(asked.target)));
    } else this.#model(asked, endpoint.name, entered.value);
  }

  #exchange(asked: ExchangeRequest, waitsForContinue: boolean): void {
    const exchange = new Exchange(this.#context, asked);
    const { socket } = asked.req;
    this.#exchanges.set(exchange, socket);
    this.#sockets.add(socket, exchange);
    exchange.start();
    if (waitsForContinue && exchange.isOpen) sendContinue(asked.res);
  }

  #settled(exchange: Exchange): void {
    const socket = this.#exchanges.get(exchange);
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

  /** What is no HTTP gets an answer all the same, in the shape that clients read. */
  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    const carried = [...this.#exchanges].flatMap(([exchange, its]) => (its === socket ? [exchange] : []));
    if (error.code === "ECONNRESET" || !socket.writable || carried.some((exchange) => !exchange.isOpen)) {
      socket.destroy();
      return;
    }
    const [uploading] = carried;
    if (uploading !== undefined) {
      uploading.onRefused({ code: "BAD_REQUEST", message: "The request's body is not framed as HTTP/1.1 asks for." });
      return;
    }
    const refusal = clientErrorRefusal(error);
    const requestId = requestIdOf(undefined);
    const body = errorBody("openai", refusal, requestId);
    const { http } = ERRORS[refusal.code];
    socket.end(
      `HTTP/1.1 ${String(http)} ${STATUS_TEXTS[refusal.code] ?? "Bad Request"}\r\nContent-Type: application/json; charset=utf-8\r\n` +
        `Content-Length: ${String(Buffer.byteLength(body))}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`,
    );
    this.#options.logger.info({ request_id: requestId, code: http, detail: error.code }, "malformed request");
  }
}

const STATUS_TEXTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  HEADERS_TOO_LARGE: "Request Header Fields Too Large",
  REQUEST_TIMEOUT: "Request Timeout",
};

function clientErrorRefusal({ code }: NodeJS.ErrnoException): Refusal {
  if (code === "HPE_HEADER_OVERFLOW")
    return { code: "HEADERS_TOO_LARGE", message: "The request's headers are over this router's limit." };
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { code: "REQUEST_TIMEOUT", message: "The request's head did not come in time." };
  return { code: "BAD_REQUEST", message: "What was sent is no HTTP/1.1 request." };
}

/** The client's own id when it can stand in a log line and a header, else a new one. */
const requestIdOf = (given: string | readonly string[] | undefined): string =>
  typeof given === "string" && SANE_REQUEST_ID.test(given) ? given : `req_${randomUUID()}`;

/** A request's target may be a whole URL; the path ends at the query. */
function splitTarget(url: string): { readonly path: string; readonly target: string } {
  const target = url.startsWith("/") ? url : pathOfUrl(url);
  const query = target.indexOf("?");
  return { path: query === -1 ? target : target.slice(0, query), target };
}

function pathOfUrl(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? "" : parsed.pathname + parsed.search;
}
