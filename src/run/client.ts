import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { trustedCertificates } from "../platform/fetch/trust.ts";
import { AdminService } from "../wire/gen/llmgw/v1/admin_pb.js";

export type AdminClient = Client<typeof AdminService>;

export interface AdminTarget {
  /** http:// (HTTP/2 without TLS) or https://. */
  readonly server: string;
  readonly token: string | undefined;
  /** The authority to trust, in PEM. Without one: those that Node and the system trust. */
  readonly ca: string | undefined;
  /** Shown to the control plane, in PEM: one with the admin role stands for the token. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** For calls that answer once; left out: {@link CALL_TIMEOUT_MS}. */
  readonly timeoutMs?: number;
}

/** Called after each call with its method, how long it took and how it failed. */
export type CallWatcher = (method: string, milliseconds: number, failure: unknown) => void;

export interface AdminConnection {
  readonly client: AdminClient;
  close(): void;
}

/** For calls that answer once. A control plane that takes longer than this has a fault worth hearing of. */
const CALL_TIMEOUT_MS = 30_000;

/** The admin API over one HTTP/2 connection, opened with the first call. Streams have no deadline: pass `timeoutMs: 0`. */
export function connectAdmin(target: AdminTarget, watch?: CallWatcher): AdminConnection {
  const secure = target.server.startsWith("https:");
  const tls = !secure ? {} : { ca: target.ca ?? [...trustedCertificates(process.env)], ...target.certificate };
  const session = new Http2SessionManager(target.server, undefined, tls);
  const transport = createConnectTransport({
    httpVersion: "2",
    baseUrl: target.server,
    sessionManager: session,
    nodeOptions: tls,
    defaultTimeoutMs: target.timeoutMs ?? CALL_TIMEOUT_MS,
    interceptors: [watching(watch), authorized(target.token)],
  });
  return {
    client: createClient(AdminService, transport),
    close: () => {
      session.abort();
    },
  };
}

const authorized =
  (token: string | undefined): Interceptor =>
  (next) =>
  (request) => {
    if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };

const watching =
  (watch: CallWatcher | undefined): Interceptor =>
  (next) =>
  async (request) => {
    const start = performance.now();
    try {
      const answer = await next(request);
      watch?.(request.method.name, performance.now() - start, undefined);
      return answer;
    } catch (error) {
      watch?.(request.method.name, performance.now() - start, error);
      throw error;
    }
  };
