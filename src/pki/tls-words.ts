import type { Millis } from "../core/ids.ts";
import { inWords } from "./certificate.ts";

interface TlsFailure {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly cause?: unknown;
}

/** More than anybody wraps. */
const DEEPEST_CAUSE = 5;

type Words = (failure: TlsFailure, now: Millis) => string;

const FOREIGN: Words = () =>
  "its certificate is not of an authority that this machine trusts: is tls.ca (or --ca) the authority that issued it?";
const clockNote = (now: Millis): string => `this machine's clock says ${inWords(now)}`;

/** What a client's TLS library says of a server's certificate, and what it means. */
const OF_CERTIFICATES: Readonly<Record<string, Words>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: FOREIGN,
  UNABLE_TO_GET_ISSUER_CERT: FOREIGN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: FOREIGN,
  SELF_SIGNED_CERT_IN_CHAIN: FOREIGN,
  DEPTH_ZERO_SELF_SIGNED_CERT: FOREIGN,
  CERT_UNTRUSTED: FOREIGN,
  CERT_SIGNATURE_FAILURE: FOREIGN,
  CERT_HAS_EXPIRED: (_, now) => `its certificate has expired, and ${clockNote(now)}`,
  CERT_NOT_YET_VALID: (_, now) => `its certificate is not valid yet, and ${clockNote(now)}: is the clock right?`,
  INVALID_PURPOSE: () => "its certificate is not one for servers (extended key usage serverAuth is missing)",
  ERR_TLS_CERT_ALTNAME_INVALID: ({ reason }) =>
    `its certificate does not carry the name that it was called by (${String(reason)}): issue one with that name, or call it by one that it has`,
};

const NO_HTTPS: Words = () => "it does not speak https there: write http:// in its address, or set tls in server.yaml";

const OF_SERVERS: Readonly<Record<string, Words>> = {
  ...OF_CERTIFICATES,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_HTTPS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_HTTPS,
};

/** Why a TLS connection to a server failed, in words; undefined when TLS was not the trouble. */
export const troubleWithServer = (thrown: unknown, now: Millis): string | undefined =>
  firstWords(OF_SERVERS, thrown, now);

/** The same, but only where the server's certificate is not to be trusted. */
export const distrustOf = (thrown: unknown, now: Millis): string | undefined =>
  firstWords(OF_CERTIFICATES, thrown, now);

function firstWords(table: Readonly<Record<string, Words>>, thrown: unknown, now: Millis): string | undefined {
  for (const failure of causes(thrown)) {
    const words = table[String(failure.code)];
    if (words !== undefined) return words(failure, now);
  }
  return undefined;
}

const OF_CLIENTS: readonly (readonly [RegExp, string])[] = [
  [
    /alert unknown ca|alert bad certificate|alert certificate unknown/i,
    "does not trust this server's certificate: is its tls.ca (or --ca) the authority that issued it?",
  ],
  [/alert certificate expired/i, "finds this server's certificate expired: is it, or is one of the two clocks wrong?"],
  [/alert unsupported certificate/i, "finds this server's certificate unfit for servers"],
  [/http request/i, "speaks plain http to this https port: write https:// in its address"],
  [/unsupported protocol|version too low|protocol version/i, "speaks a TLS version older than 1.2"],
];

/** What a failed handshake tells about the client, in words that go on after its address; undefined: nothing of use. */
export function troubleWithClient(thrown: unknown): string | undefined {
  for (const { code, message, reason } of causes(thrown)) {
    const said = [code, message, reason].map(String).join(" ").replaceAll("_", " ");
    const known = OF_CLIENTS.find(([pattern]) => pattern.test(said));
    if (known !== undefined) return known[1];
  }
  return undefined;
}

function causes(thrown: unknown): readonly TlsFailure[] {
  const found: TlsFailure[] = [];
  let next = thrown;
  while (typeof next === "object" && next !== null && found.length < DEEPEST_CAUSE) {
    const failure: TlsFailure = next;
    found.push(failure);
    next = failure.cause;
  }
  return found;
}

/** A refusal that names the other side's clock means little without one's own. */
export const withOwnClock = (reason: string, now: Millis): string =>
  reason.includes("clock says") ? `${reason}; ${clockNote(now)}` : reason;
