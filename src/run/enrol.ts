import { createPrivateKey } from "node:crypto";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { TokenText } from "../core/access-token.ts";
import type { Millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { trustedCertificates } from "../platform/fetch/trust.ts";
import { authorityPin, factsOf } from "../pki/certificate.ts";
import { readCertificates } from "../pki/pem.ts";
import { distrustOf, troubleWithServer, withOwnClock } from "../pki/tls-words.ts";
import { JoinService } from "../wire/gen/llmgw/v1/join_pb.js";

/** A control plane, and what lets one in and tells it from an impostor. */
export interface JoinTarget {
  /** http:// or https://. */
  readonly server: string;
  readonly token: TokenText;
  /** Authorities to trust, in PEM. Undefined: the one that the token vouches for, else those of the machine. */
  readonly ca: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Joining {
  readonly node: string;
  /** The node's private key in PEM. It stays here. */
  readonly key: string;
  readonly now: Millis;
}

export type Enrolled =
  | {
      readonly kind: "certificate";
      readonly certificate: string;
      /** What the node knows the control plane by, in PEM; undefined: what the machine trusts anyway. */
      readonly ca: string | undefined;
    }
  /** The control plane asks for no certificates: the token goes on standing for the node. */
  | { readonly kind: "token" };

/** Why nothing came of it. "refused": the next try would hear the same. The reason is a clause. */
export interface EnrolFailure {
  readonly kind: "refused" | "unreachable";
  readonly reason: string;
}

/** Of a token that vouches for an authority. */
export const WANTS_HTTPS = "the token vouches for a control plane that speaks https: write https:// in its address";

type Answer<T> = Result<T, EnrolFailure>;

/** Gets this machine admitted as a node. Nothing secret is sent before the control plane has proven itself. */
export async function enrol(target: JoinTarget, { node, key, now }: Joining): Promise<Answer<Enrolled>> {
  const trusted = await trustedAuthorities(target, now);
  if (!trusted.ok) return trusted;
  const isSecure = target.server.startsWith("https:");
  // Loaded late: its library is large, and an agent needs it once in its life.
  const { signingRequest } = await import("../pki/signing-request.ts");
  const request = { nodeId: node, signingRequest: await signingRequest(node, key), clock: timestampFromMs(now) };
  const tls = isSecure ? { ca: [...trusted.value] } : {};
  const joined = await ask(target.server, { tls, now }, (client) =>
    client.join(request, { headers: { authorization: `Bearer ${target.token.secret}` } }),
  );
  if (!joined.ok) return joined;
  const { certificate, authorities } = joined.value;
  if (certificate === "") return ok({ kind: "token" });
  if (!isFor(certificate, node, key)) return refused("it sent a certificate for another node or key");
  return ok({ kind: "certificate", certificate, ca: lasting(target, trusted.value, authorities) });
}

/** In PEM. Over http nobody proves anything, so there are none. */
export async function trustedAuthorities(target: JoinTarget, now: Millis): Promise<Answer<readonly string[]>> {
  const { server, token, ca, env } = target;
  if (server.startsWith("http:")) {
    if (token.pin === undefined) return ok([]);
    return refused(WANTS_HTTPS);
  }
  if (ca !== undefined) return ok([ca]);
  if (token.pin === undefined) return ok(trustedCertificates(env));
  // Whoever answers here may be anybody. What it shows is believed only if it has the hash that the token carries.
  const shown = await ask(server, { tls: { rejectUnauthorized: false }, now }, (client) => client.getAuthorities({}));
  if (!shown.ok) return shown;
  const read = readCertificates(shown.value.authorities);
  const pinned = read.ok ? read.value.find((authority) => authorityPin(authority) === token.pin) : undefined;
  if (pinned !== undefined) return ok([pinned.toString()]);
  return refused(
    "it does not show the authority that the token vouches for: the token is another control plane's, or somebody answers in its place; check the address, and make a new token there",
  );
}

/** During a change of authority the control plane trusts two, and its next certificate may be of the other one. */
function lasting({ token, ca }: JoinTarget, trusted: readonly string[], authorities: string): string | undefined {
  if (ca !== undefined || token.pin === undefined) return ca;
  const [pinned = ""] = trusted;
  return authorities.includes(pinned.trim()) ? authorities : `${pinned}${authorities}`;
}

interface Asking {
  readonly tls: { readonly ca?: string[]; readonly rejectUnauthorized?: false };
  readonly now: Millis;
}

const TIMEOUT_MS = 30_000;

async function ask<T>(
  server: string,
  { tls, now }: Asking,
  call: (client: Client<typeof JoinService>) => Promise<T>,
): Promise<Answer<T>> {
  const session = new Http2SessionManager(server, undefined, tls);
  const transport = createConnectTransport({
    httpVersion: "2",
    baseUrl: server,
    sessionManager: session,
    defaultTimeoutMs: TIMEOUT_MS,
  });
  try {
    return ok(await call(createClient(JoinService, transport)));
  } catch (error) {
    return err(failureOf(ConnectError.from(error), now));
  } finally {
    session.abort();
  }
}

/** Answers that were meant. The others may be of something that stands in between. */
const REFUSALS: readonly Code[] = [
  Code.InvalidArgument,
  Code.NotFound,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.FailedPrecondition,
  Code.Unimplemented,
];

function failureOf(error: ConnectError, now: Millis): EnrolFailure {
  const distrust = distrustOf(error, now);
  if (distrust !== undefined) return { kind: "refused", reason: distrust };
  const reason = troubleWithServer(error, now) ?? withOwnClock(error.rawMessage, now);
  return { kind: REFUSALS.includes(error.code) ? "refused" : "unreachable", reason };
}

const refused = (reason: string): Answer<never> => err({ kind: "refused", reason });

function isFor(pem: string, node: string, key: string): boolean {
  const read = readCertificates(pem);
  if (!read.ok) return false;
  const [certificate] = read.value;
  return factsOf(certificate).commonName === node && certificate.checkPrivateKey(createPrivateKey(key));
}
