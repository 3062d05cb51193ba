import { createHash, type X509Certificate } from "node:crypto";
import { type Millis, millis } from "../core/ids.ts";
import { canonicalAddress } from "./names.ts";

/** What a certificate says, as far as anyone here asks. */
export interface CertificateFacts {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** In lower case. */
  readonly dnsNames: readonly string[];
  /** In one spelling each. */
  readonly addresses: readonly string[];
  readonly notBefore: Millis;
  readonly notAfter: Millis;
  /** Hexadecimal, upper case, as openssl prints it. */
  readonly serial: string;
  /** Extended key usages by their numbers; undefined: none is named, and then it is good for all. */
  readonly usages: readonly string[] | undefined;
  readonly isAuthority: boolean;
}

export const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
export const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const ANY_USAGE = "2.5.29.37.0";

/** Entries stand between commas; one that holds a comma itself is quoted, so that it cannot pass for two. */
const ENTRY = /[A-Za-z](?:[^,"]|"(?:[^"\\]|\\.)*")*/g;

export function factsOf(certificate: X509Certificate): CertificateFacts {
  // One line for each part of the name. A part with several values has several lines.
  const subject = certificate.subject.split("\n");
  const parts = (key: string): readonly string[] =>
    subject.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));
  const names = certificate.subjectAltName?.match(ENTRY) ?? [];
  const named = (kind: string): readonly string[] =>
    names.flatMap((name) => (name.startsWith(kind) ? [name.slice(kind.length)] : []));
  return {
    // No id holds a plus: a certificate with two names is nobody's.
    commonName: parts("CN").join("+"),
    organizations: parts("O"),
    dnsNames: named("DNS:").map((name) => name.toLowerCase()),
    addresses: named("IP Address:").map((address) => canonicalAddress(address) ?? address),
    notBefore: millis(certificate.validFromDate.getTime()),
    notAfter: millis(certificate.validToDate.getTime()),
    serial: plainSerial(certificate.serialNumber),
    usages: usagesOf(certificate),
    isAuthority: certificate.ca,
  };
}

export const isGoodFor = ({ usages }: CertificateFacts, usage: string): boolean =>
  usages === undefined || usages.includes(usage) || usages.includes(ANY_USAGE);

/** The type says that there is always a list, which is wrong. */
const usagesOf = ({ keyUsage }: { readonly keyUsage: readonly string[] | undefined }): readonly string[] | undefined =>
  keyUsage;

/** "0a:1B:2c" and "A1B2C" are the same number: whole bytes, upper case, no byte of zeros in front. */
export function plainSerial(text: string): string {
  const digits = text
    .replaceAll(":", "")
    .replace(/^0+(?=.)/, "")
    .toUpperCase();
  return digits.length % 2 === 0 ? digits : `0${digits}`;
}

/** Names an authority by its key, which stays when its certificate is renewed. */
export const keyHash = (certificate: X509Certificate): string =>
  createHash("sha256")
    .update(certificate.publicKey.export({ type: "spki", format: "der" }))
    .digest("hex");

/** The same hash in the form that join tokens carry it. */
export const authorityPin = (certificate: X509Certificate): string =>
  Buffer.from(keyHash(certificate), "hex").toString("base64url");

/** For messages: "2026-11-30 07:00:00 UTC". */
export const inWords = (at: Millis): string =>
  new Date(at)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
