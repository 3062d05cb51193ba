import { createSecureContext, type SecureContext } from "node:tls";
import type * as Undici from "undici";
import { VERSION } from "../../core/version.ts";
import { type FetchEnv, proxyFor } from "./proxy.ts";
import { trustedCertificates } from "./trust.ts";

export type Answer = Undici.Dispatcher.ResponseData;

interface Ask {
  readonly url: URL;
  readonly method: "GET" | "HEAD";
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** One request, one answer: no redirects, no retries. Throws what undici throws. */
export interface Transport {
  send(ask: Ask): Promise<Answer>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 15_000;

/**
 * Connections by the proxy variables of `env`, trusting the system's certificates as well as Node's. The client is loaded at
 * the first request: an agent that has everything it needs keeps 13 MiB by it.
 */
export function createTransport(env: FetchEnv): Transport {
  const dispatchers = new Map<string, Undici.Dispatcher>();
  let context: SecureContext | undefined;

  // Made once: parsing some hundred certificates for every connection costs tens of milliseconds each time.
  const secureContext = (): SecureContext => (context ??= createSecureContext({ ca: [...trustedCertificates(env)] }));

  const dispatcherFor = ({ Agent, ProxyAgent }: typeof Undici, url: URL): Undici.Dispatcher => {
    const proxy = proxyFor(url, env);
    const key = `${proxy ?? "direct"} ${url.protocol}`;
    const known = dispatchers.get(key);
    if (known !== undefined) return known;
    // One connection for each range is what makes ranges parallel; HTTP/2 would put them all on one.
    const tls = url.protocol === "https:" ? { secureContext: secureContext() } : {};
    const options = { allowH2: false, headersTimeout: 0, bodyTimeout: 0 } as const;
    const made =
      proxy === undefined
        ? new Agent({ ...options, connect: { ...tls, timeout: CONNECT_TIMEOUT_MS } })
        : new ProxyAgent({
            ...options,
            uri: proxy,
            requestTls: tls,
            proxyTls: { secureContext: secureContext(), timeout: CONNECT_TIMEOUT_MS },
          });
    dispatchers.set(key, made);
    return made;
  };

  return {
    async send({ url, method, headers, signal }) {
      const all = { "user-agent": `llmgw/${VERSION}`, "accept-encoding": "identity", ...headers };
      const undici = await import("undici");
      return await undici.request(url, { method, headers: all, signal, dispatcher: dispatcherFor(undici, url) });
    },
    async close() {
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
      dispatchers.clear();
    },
  };
}
