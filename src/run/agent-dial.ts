import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { Dialled } from "../agent/control-link.ts";
import type { AgentConfig } from "../config/agent.ts";
import { LlmgwError } from "../core/errors.ts";
import { systemClock } from "../platform/clock.ts";
import { trustedCertificates } from "../platform/fetch/trust.ts";
import type { Logger } from "../platform/logger.ts";
import { FollowedTls } from "../pki/follow.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A TCP connection that is not there by then will not come. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Opens a connection of its own for each call, straight to the control plane and by no proxy, with the certificates of now. */
export function createDial(tls: FollowedTls | undefined, env: Env): (server: string) => Promise<Dialled> {
  return (server) => {
    const material = server.startsWith("https:") ? materialOf(tls, env) : {};
    const session = new Http2SessionManager(server, { connectTimeoutMs: CONNECT_TIMEOUT_MS }, material);
    const transport = createConnectTransport({ httpVersion: "2", baseUrl: server, sessionManager: session });
    return Promise.resolve({
      transport,
      close: () => {
        session.abort();
      },
    });
  };
}

function materialOf(tls: FollowedTls | undefined, env: Env) {
  if (tls === undefined) return { ca: [...trustedCertificates(env)] };
  const { ca, cert, key } = tls.current;
  return { ca: ca === "" ? [...trustedCertificates(env)] : ca, cert, key };
}

/** Says at the start, and not only with each failed connection, everything that is wrong with the certificates. */
export async function followTls(tls: AgentConfig["tls"], logger: Logger): Promise<FollowedTls | undefined> {
  if (tls === undefined) return undefined;
  const opened = await FollowedTls.open({ files: tls, where: "tls", clock: systemClock, logger });
  if (opened.ok) return opened.value;
  throw new LlmgwError("BAD_CONFIG", `the certificates cannot be used:\n${opened.error.join("\n")}`);
}
