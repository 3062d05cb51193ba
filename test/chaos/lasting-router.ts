// A router in a process of its own that lives through everything: started with fork(), its argument is the control plane's
// URL, and the token that it shows is in its environment. It says its own URL when it listens, and ends with its parent.
import { createConnectTransport } from "@connectrpc/connect-node";
import { silentLogger } from "../../src/platform/logger.ts";
import { startRouter } from "../../src/run/router.ts";

export interface LastingRouterReady {
  readonly url: string;
}

const transport = createConnectTransport({
  httpVersion: "2",
  baseUrl: process.argv[2] ?? "",
  interceptors: [
    (next) => (request) => {
      request.header.set("authorization", `Bearer ${process.env["LLMGW_TOKEN"] ?? ""}`);
      return next(request);
    },
  ],
});
const router = await startRouter({ listen: { host: "127.0.0.1", port: 0 }, transport, logger: silentLogger });
process.on("disconnect", () => {
  process.exit(0);
});
process.send?.({ url: router.url } satisfies LastingRouterReady);
