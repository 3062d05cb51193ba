import type { ServerResponse } from "node:http";
import { listen, type Listening, type WebHandler } from "../platform/listen.ts";
import { METRICS_CONTENT_TYPE } from "./metrics-page.ts";

/** Serves /metrics, and /healthz for those who only ask whether the agent lives. Rejects when the address cannot be had. */
export function serveMetrics(
  page: () => string,
  address: { readonly host: string; readonly port: number },
): Promise<Listening> {
  return listen({ ...address, tls: undefined, handler: handlerOf(page) });
}

const handlerOf =
  (page: () => string): WebHandler =>
  (request, response) => {
    const answer = (status: number, type: string, body: string): void => {
      // Both kinds of response have these; their overloads only cannot be called as a union.
      const out = response as ServerResponse;
      out.writeHead(status, { "content-type": type });
      out.end(request.method === "HEAD" ? undefined : body);
    };
    const path = request.url?.split("?")[0];
    if (request.method !== "GET" && request.method !== "HEAD") {
      answer(405, "text/plain", "only GET\n");
    } else if (path === "/healthz") {
      answer(200, "text/plain", "ok\n");
    } else if (path === "/metrics") {
      answer(200, METRICS_CONTENT_TYPE, page());
    } else {
      answer(404, "text/plain", "here are /metrics and /healthz\n");
    }
  };
