import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { trustedCertificates } from "../platform/fetch/trust.ts";
import type { FollowedTls } from "../pki/follow.ts";

/** A TCP connection that is not there by then will not come. */
const CONNECT_TIMEOUT_MS = 10_000;

interface Showing {
  /** In PEM; empty over plain http. */
  readonly material: { readonly ca?: string | string[]; readonly cert?: string; readonly key?: string };
  /** Of the authorization header; undefined: none is sent. */
  readonly authorization: string | undefined;
  /** Left out: a silent connection is taken to live. */
  readonly ping?: {
    readonly pingIntervalMs: number;
    readonly pingTimeoutMs: number;
    readonly pingIdleConnection: boolean;
  };
}

/** A connection of its own, straight to the control plane and by no proxy. It is made with the first call. */
export function connectControl(
  server: string,
  { material, authorization, ping }: Showing,
): { readonly transport: Transport; close(): void } {
  const session = new Http2SessionManager(server, { ...ping, connectTimeoutMs: CONNECT_TIMEOUT_MS }, material);
  const transport = createConnectTransport({
    httpVersion: "2",
    baseUrl: server,
    sessionManager: session,
    interceptors: authorization === undefined ? [] : [showing(authorization)],
  });
  return {
    transport,
    close: () => {
      session.abort();
    },
  };
}

/** By certificates, as they are now; where none names an authority, those are trusted that the machine trusts. */
export function materialOf(tls: FollowedTls | undefined, env: Readonly<Record<string, string | undefined>>) {
  const trusted = (): string[] => [...trustedCertificates(env)];
  if (tls === undefined) return { ca: trusted() };
  const { ca, cert, key } = tls.current;
  return { ca: ca === "" ? trusted() : ca, cert, key };
}

const showing =
  (authorization: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set("authorization", authorization);
    return next(request);
  };
