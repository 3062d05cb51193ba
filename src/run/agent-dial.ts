import type { Dialled } from "../agent/control-link.ts";
import type { AgentIdentity } from "./agent-identity.ts";
import { connectControl, materialOf } from "./control-connection.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Opens a connection for each call, with what the node is known by now. */
export function createDial(identity: Pick<AgentIdentity, "proofFor">, env: Env): (server: string) => Promise<Dialled> {
  return async (server) => {
    const { tls, authorization } = await identity.proofFor(server);
    const material = server.startsWith("https:") ? materialOf(tls, env) : {};
    return connectControl(server, { material, authorization });
  };
}
