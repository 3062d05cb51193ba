import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { Dialled } from "../agent/control-link.ts";
import type { AgentConfig } from "../config/agent.ts";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { trustedCertificates } from "../platform/fetch/trust.ts";
import { readTextIfThere } from "../platform/files.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A TCP connection that is not there by then will not come. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Opens a connection of its own for each call, straight to the control plane and by no proxy. Certificates are read anew. */
export function createDial(tls: AgentConfig["tls"], env: Env): (server: string) => Promise<Dialled> {
  return async (server) => {
    const material = server.startsWith("https:") ? await readMaterial(tls, env) : {};
    const session = new Http2SessionManager(server, { connectTimeoutMs: CONNECT_TIMEOUT_MS }, material);
    const transport = createConnectTransport({ httpVersion: "2", baseUrl: server, sessionManager: session });
    return {
      transport,
      close: () => {
        session.abort();
      },
    };
  };
}

/** Says at the start, and not only with each failed connection, that a certificate or key cannot be read. */
export async function checkTlsFiles(tls: AgentConfig["tls"]): Promise<void> {
  if (tls !== undefined)
    await Promise.all([readFile("ca", tls.ca), readFile("cert", tls.cert), readFile("key", tls.key)]);
}

async function readMaterial(tls: AgentConfig["tls"], env: Env) {
  if (tls === undefined) return { ca: [...trustedCertificates(env)] };
  const [ca, cert, key] = await Promise.all([
    readFile("ca", tls.ca),
    readFile("cert", tls.cert),
    readFile("key", tls.key),
  ]);
  return { ca, cert, key };
}

async function readFile(key: string, path: string): Promise<string> {
  const text = await readTextIfThere(path).catch((error: unknown) => {
    throw new LlmgwError("BAD_CONFIG", `tls.${key}: ${path} cannot be read: ${messageOf(error)}`);
  });
  if (text === undefined) throw new LlmgwError("BAD_CONFIG", `tls.${key}: there is no file ${path}`);
  return text;
}
