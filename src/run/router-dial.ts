import { Code, ConnectError } from "@connectrpc/connect";
import type { RouterConfig } from "../config/router.ts";
import { readToken } from "../core/access-token.ts";
import type { Clock } from "../platform/clock.ts";
import type { FollowedTls } from "../pki/follow.ts";
import { troubleWithServer, withOwnClock } from "../pki/tls-words.ts";
import type { ControlLine, ControlPlanes } from "../router/control-line.ts";
import { connectControl, materialOf } from "./control-connection.ts";
import { trustedAuthorities, WANTS_HTTPS } from "./enrol.ts";

/** A control plane that went without a word, such as by a cut cable, is noticed after both: keys are revoked in it meanwhile. */
const PING_EVERY_MS = 3_000;
const PING_TIMEOUT_MS = 3_000;

interface Dialling extends Pick<RouterConfig, "servers" | "token"> {
  /** What the router shows; undefined: it has no certificate. */
  readonly tls: FollowedTls | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** The control planes of a router alone: one connection for each session, straight to it and by no proxy. */
export function routerDial(options: Dialling): ControlPlanes {
  const { servers } = options;
  let turn = 0;
  return {
    count: servers.length,
    dial: () => {
      const server = servers[turn % servers.length] ?? "";
      turn += 1;
      return dialOne(server, options);
    },
    explain: (error) => {
      const now = options.clock.now();
      return troubleWithServer(error, now) ?? withOwnClock(ConnectError.from(error).rawMessage, now);
    },
  };
}

async function dialOne(server: string, options: Dialling): Promise<ControlLine> {
  const { token } = options;
  const shown = token === undefined ? undefined : (readToken(token)?.secret ?? token);
  const material = server.startsWith("https:") ? await materialFor(server, options) : {};
  if (server.startsWith("http:") && readToken(token ?? "")?.pin !== undefined) throw refused(WANTS_HTTPS);
  const ping = { pingIntervalMs: PING_EVERY_MS, pingTimeoutMs: PING_TIMEOUT_MS, pingIdleConnection: true };
  const authorization = shown === undefined ? undefined : `Bearer ${shown}`;
  return { server, ...connectControl(server, { material, authorization, ping }) };
}

async function materialFor(server: string, { tls, token, env, clock }: Dialling) {
  const read = readToken(token ?? "");
  if (tls !== undefined || read === undefined) return materialOf(tls, env);
  const trusted = await trustedAuthorities({ server, token: read, ca: undefined, env }, clock.now());
  if (!trusted.ok) throw refused(trusted.error.reason);
  return { ca: [...trusted.value] };
}

const refused = (reason: string): ConnectError => new ConnectError(reason, Code.PermissionDenied);
