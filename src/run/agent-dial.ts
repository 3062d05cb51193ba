import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { Dialled } from "../agent/control-link.ts";
import { trustedCertificates } from "../platform/fetch/trust.ts";
import type { FollowedTls } from "../pki/follow.ts";
import type { AgentIdentity } from "./agent-identity.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A TCP connection that is not there by then will not come. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Opens a connection of its own for each call, straight to the control plane and by no proxy, with what the node is known by now. */
export function createDial(identity: Pick<AgentIdentity, "proofFor">, env: Env): (server: string) => Promise<Dialled> {
  return async (server) => {
    const { tls, authorization } = await identity.proofFor(server);
    const material = server.startsWith("https:") ? materialOf(tls, env) : {};
    const session = new Http2SessionManager(server, { connectTimeoutMs: CONNECT_TIMEOUT_MS }, material);
    const interceptors = authorization === undefined ? [] : [showing(authorization)];
    const transport = createConnectTransport({
      httpVersion: "2",
      baseUrl: server,
      sessionManager: session,
      interceptors,
    });
    return {
      transport,
      close: () => {
        session.abort();
      },
    };
  };
}

function materialOf(tls: FollowedTls | undefined, env: Env) {
  if (tls === undefined) return { ca: [...trustedCertificates(env)] };
  const { ca, cert, key } = tls.current;
  return { ca: ca === "" ? [...trustedCertificates(env)] : ca, cert, key };
}

const showing =
  (authorization: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set("authorization", authorization);
    return next(request);
  };
