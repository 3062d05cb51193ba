// The library looks up metadata that this one makes, and fails without it.
import "reflect-metadata";
import { X509Certificate as ReadCertificate } from "@peculiar/x509";
import type { X509Certificate } from "node:crypto";
import { millis, type Millis } from "../core/ids.ts";
import { BACKDATED } from "./backdated.ts";
import { factsOf } from "./certificate.ts";
import { certifyNode } from "./certify-node.ts";
import type { NameEntry } from "./names.ts";

/**
 * A new certificate for a node's old key, as long as the one before, under the same names. The one before has been judged
 * already; it stays valid to its end. Rejects in words when the folder has no authority that can sign.
 */
export async function renewNode(
  certificate: X509Certificate,
  { dir, now }: { readonly dir: string; readonly now: Millis },
): Promise<string> {
  const { commonName, dnsNames, addresses, notBefore, notAfter } = factsOf(certificate);
  const whole = notAfter - notBefore;
  // In the id's own spelling; the other names as they are.
  const spelt = (name: string): string => (name === commonName.toLowerCase() ? commonName : name);
  const names: readonly NameEntry[] = [
    ...dnsNames.map((name): NameEntry => ({ kind: "dns", value: spelt(name) })),
    ...addresses.map((value): NameEntry => ({ kind: "ip", value })),
  ];
  const lifetime = millis(whole > BACKDATED ? whole - BACKDATED : whole);
  const { publicKey } = new ReadCertificate(certificate.raw);
  return certifyNode(dir, { commonName, names, now, lifetime }, publicKey);
}
