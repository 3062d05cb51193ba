import type { X509Certificate } from "node:crypto";
import { type Millis, millis } from "../core/ids.ts";
import { factsOf } from "./certificate.ts";

/** With this share of its life left a certificate is to be renewed: long before its end, and seldom. */
const LEFT_AT_RENEWAL = 1 / 3;

/** When the certificate is to be renewed. */
export function renewalDue(certificate: X509Certificate): Millis {
  const { notBefore, notAfter } = factsOf(certificate);
  return millis(notAfter - (notAfter - notBefore) * LEFT_AT_RENEWAL);
}

/** Whether a new certificate may take the place of the one before: for the same key and name, and it ends later. */
export function mayReplace(renewed: X509Certificate, before: X509Certificate): boolean {
  const [next, old] = [factsOf(renewed), factsOf(before)];
  return (
    renewed.publicKey.equals(before.publicKey) && next.commonName === old.commonName && next.notAfter > old.notAfter
  );
}
