import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, createRouterTransport, type Transport } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { parseServerConfig } from "../../src/config/server.ts";
import { publicRoutes } from "../../src/control/api/routes.ts";
import { startControlPlane } from "../../src/control/control-plane.ts";
import { mintReplica } from "../../src/control/mint.ts";
import { policyOf } from "../../src/control/policy.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import { startServer } from "../../src/run/server.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { AdminService } from "../../src/wire/gen/llmgw/v1/admin_pb.js";

/** A control plane that runs, and ways to it. */
export interface Site {
  readonly admin: Client<typeof AdminService>;
  readonly token: string;
  /** A connection of its own for each caller. */
  connect(): Transport;
  /** Undefined: it has no socket. */
  readonly url: string | undefined;
  stop(): Promise<void>;
}

export interface SiteOptions {
  /** Lines of server.yaml; it has no router and listens on a free port. */
  readonly yaml?: readonly string[];
  /** Undefined: a new one, removed at the end. */
  readonly dataDir?: string;
  /** In PEM, of the authority that its certificate is of, where the lines name one. */
  readonly ca?: string;
}

function config(yaml: readonly string[]) {
  const text = ['listen: "127.0.0.1:0"', 'router: { listen: "" }', ...yaml].join("\n");
  const parsed = parseServerConfig({
    text,
    file: "server.yaml",
    env: {},
    readSecret: () => ({ ok: false, error: "none" }),
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return parsed.value;
}

const authorized = (token: string) => ({ authorization: `Bearer ${token}` });

const adminOf = (transport: Transport, token: string): Client<typeof AdminService> =>
  createClient(AdminService, {
    unary: (method, signal, timeout, header, message, values) =>
      transport.unary(method, signal, timeout, { ...header, ...authorized(token) }, message, values),
    stream: (method, signal, timeout, header, input, values) =>
      transport.stream(method, signal, timeout, { ...header, ...authorized(token) }, input, values),
  });

/** Without any socket: what is sent goes through the same handlers. */
export async function inProcess({ yaml = [] }: SiteOptions = {}): Promise<Site> {
  const store = await openSqliteStore({ path: ":memory:", newServerId: "in-process" });
  const token = "token-of-the-test";
  const plane = await startControlPlane({
    store,
    clock: systemClock,
    logger: silentLogger,
    policy: policyOf(config(yaml)),
    mint: mintReplica,
    door: undefined,
    adminToken: token,
    routerUrl: () => "",
    lookAtModel: ({ model }) =>
      Promise.resolve({ source: model.source, facts: undefined, weights: undefined, problem: "nobody is asked here" }),
  });
  const transport = createRouterTransport((router) => {
    publicRoutes(router, plane);
  });
  return {
    admin: adminOf(transport, token),
    token,
    url: undefined,
    connect: () => transport,
    stop: async () => {
      await plane.loop.stop();
      await store.close();
    },
  };
}

/** The whole server behind its port. */
export async function overSockets({ yaml = [], dataDir, ca }: SiteOptions = {}): Promise<Site> {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), "llmgw-site-")));
  const server = await startServer({ config: config(yaml), dataDir: folder, logger: silentLogger });
  const sessions: Http2SessionManager[] = [];
  const connect = (): Transport => {
    const sessionManager = new Http2SessionManager(server.url, undefined, ca === undefined ? {} : { ca });
    sessions.push(sessionManager);
    return createConnectTransport({ httpVersion: "2", baseUrl: server.url, sessionManager });
  };
  return {
    admin: adminOf(connect(), server.adminToken),
    token: server.adminToken,
    url: server.url,
    connect,
    stop: async () => {
      await server.stop();
      for (const session of sessions) session.abort();
      if (dataDir === undefined) await rm(folder, { recursive: true });
    },
  };
}
