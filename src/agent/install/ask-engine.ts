import { Agent, request } from "node:http";
import type { EngineRequest } from "../../engines/engine.ts";

export interface EngineAddress {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string;
}

export interface EngineAnswer {
  readonly status: number;
  readonly body: string;
}

const SILENCE_MS = 60_000;

/** Undefined when there is no answer, which is the usual thing while an engine starts. Never by way of a proxy. */
export function askEngine(to: EngineAddress, question: EngineRequest): Promise<EngineAnswer | undefined> {
  return new Promise((resolve) => {
    const body = question.body ?? "";
    const asked = request({
      host: to.host,
      port: to.port,
      method: question.method,
      path: question.path,
      // One of its own: the shared one may be told by the environment to use a proxy.
      agent: new Agent(),
      timeout: SILENCE_MS,
      headers: {
        authorization: `Bearer ${to.apiKey}`,
        ...(body === "" ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      },
    });
    asked.on("error", () => {
      resolve(undefined);
    });
    asked.on("timeout", () => {
      asked.destroy();
    });
    asked.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, body: text });
      });
      response.on("error", () => {
        resolve(undefined);
      });
    });
    asked.end(body);
  });
}
