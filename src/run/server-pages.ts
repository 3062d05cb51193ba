import type { WebHandler } from "../platform/listen.ts";
import { pathOf } from "./rpc-handler.ts";

interface Page {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export interface ServerPages {
  /** Prometheus' exposition text. */
  readonly metrics: () => Promise<string>;
  /** Undefined: it can do its work; else why not. */
  readonly notReady: () => string | undefined | Promise<string | undefined>;
}

/** What the control plane's port answers besides calls: health, readiness, numbers. */
export function serverPages({ metrics, notReady }: ServerPages): WebHandler {
  const plain = (status: number, text: string): Page => ({ status, type: "text/plain; charset=utf-8", text });
  const pages: Readonly<Record<string, () => Page | Promise<Page>>> = {
    "/healthz": () => plain(200, "ok\n"),
    "/readyz": async () => {
      const why = await notReady();
      return why === undefined ? plain(200, "ready\n") : plain(503, `${why}\n`);
    },
    "/metrics": async () => ({ ...plain(200, await metrics()), type: "text/plain; version=0.0.4; charset=utf-8" }),
  };
  return (request, response) => {
    const path = pathOf(request);
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    const answer = (): Page | Promise<Page> => {
      if (page === undefined)
        return plain(404, `there is no ${path} here; models are asked for at the router's address\n`);
      if (request.method !== "GET" && request.method !== "HEAD") return plain(405, "only GET and HEAD\n");
      return page();
    };
    void Promise.resolve(answer())
      .catch((error: unknown) => plain(500, `${String(error)}\n`))
      .then(({ status, type, text }) => {
        response.statusCode = status;
        response.setHeader("content-type", type);
        response.setHeader("content-length", Buffer.byteLength(text));
        response.end(request.method === "HEAD" ? "" : text);
      });
  };
}
