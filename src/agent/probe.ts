import { request as httpRequest, type RequestOptions } from "node:http";
import type { TLSSocket } from "node:tls";
import { messageOf } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { EngineRequest } from "../engines/engine.ts";
import { connectPinned } from "../platform/pinned-tls.ts";

/** Where an engine answers, and the key it asks for. */
export interface ProbeTarget {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string;
  /** As `Endpoint` has it: with it the engine is asked over TLS, and no other than that engine. */
  readonly tlsSha256?: string;
}

export interface ProbeAnswer {
  readonly status: number;
  readonly body: string;
}

/** Far more than any of the answers asked for; a stranger on the port may send without end. */
const MOST_BODY_BYTES = 4 * 1024 * 1024;

/**
 * One request straight to an engine, over a connection of its own: no proxy, whatever the environment says, and no
 * connection that an engine may have dropped meanwhile. The error says why there was no whole answer.
 */
export async function askEngine(
  target: ProbeTarget,
  request: EngineRequest,
  limits: Limits,
): Promise<Result<ProbeAnswer, string>> {
  // A key or a path that no request can carry is thrown at once.
  return ask(target, request, limits).catch((error: unknown) => err(messageOf(error)));
}

interface Limits {
  readonly timeout: Millis;
  readonly signal: AbortSignal;
}

function ask(target: ProbeTarget, request: EngineRequest, limits: Limits): Promise<Result<ProbeAnswer, string>> {
  return new Promise((resolve) => {
    let givenUp: Error | undefined;
    const giveUp = (why: string): void => {
      givenUp = new Error(why);
      outgoing.destroy(givenUp);
    };
    const leave = (): void => {
      giveUp("it is no longer asked");
    };
    const connection = connectionOf(target);
    const settle = (result: Result<ProbeAnswer, string>): void => {
      clearTimeout(timer);
      connection.close();
      limits.signal.removeEventListener("abort", leave);
      resolve(result);
    };
    const fail = (error: unknown): void => {
      settle(err(messageOf(givenUp ?? error)));
    };
    const outgoing = httpRequest(
      {
        host: target.host,
        port: target.port,
        method: request.method,
        path: request.path,
        headers: headersFor(target, request),
        ...connection.options,
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > MOST_BODY_BYTES) outgoing.destroy(new Error("the answer is far longer than an engine's"));
          else chunks.push(chunk);
        });
        response.on("end", () => {
          settle(ok({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }));
        });
        response.on("error", fail);
      },
    );
    outgoing.on("error", fail);
    // After what may throw: a timer left behind would have nothing to give up.
    const timer = setTimeout(() => {
      giveUp(`no answer within ${String(limits.timeout / 1000)} s`);
    }, limits.timeout);
    limits.signal.addEventListener("abort", leave);
    if (limits.signal.aborted) leave();
    else outgoing.end(request.body);
  });
}

interface Connection {
  readonly options: RequestOptions;
  close(): void;
}

/** Over TLS the question is not written before it is known who reads it. */
function connectionOf({ host, port, tlsSha256 }: ProbeTarget): Connection {
  if (tlsSha256 === undefined) return { options: { agent: false }, close: () => undefined };
  let socket: TLSSocket | undefined;
  const createConnection: RequestOptions["createConnection"] = (_options, opened) => {
    const made = connectPinned({ host, port, tlsSha256 }, {}, () => {
      opened(null, made);
    });
    made.once("error", (error) => {
      opened(error, made);
    });
    socket = made;
    return undefined;
  };
  // A request that is given up before it has its socket would leave that behind.
  return { options: { createConnection }, close: () => socket?.destroy() };
}

function headersFor({ apiKey }: ProbeTarget, { body }: EngineRequest): Record<string, string> {
  return {
    ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(body === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
  };
}
