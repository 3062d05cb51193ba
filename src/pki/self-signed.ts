// The library looks up metadata that this one makes, and fails without it.
import "reflect-metadata";
import { X509CertificateGenerator } from "@peculiar/x509";
import type { Millis } from "../core/ids.ts";
import { BACKDATED } from "./backdated.ts";
import { endEntity, type Issued, keyText, newKeys, newSerial, pemOf, SIGNATURE } from "./make.ts";
import type { NameEntry } from "./names.ts";

/** A certificate for a server that nobody vouches for: whoever connects has to know it beforehand. */
export async function createSelfSigned(options: {
  readonly commonName: string;
  readonly names: readonly NameEntry[];
  readonly now: Millis;
  readonly lifetime: Millis;
}): Promise<Issued & { readonly der: Uint8Array }> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: [{ CN: [options.commonName] }],
    notBefore: new Date(options.now - BACKDATED),
    notAfter: new Date(options.now + options.lifetime),
    keys,
    signingAlgorithm: SIGNATURE,
    extensions: endEntity({ names: options.names, usage: "server" }),
  });
  const der = new Uint8Array(certificate.rawData);
  return { certificate: pemOf("CERTIFICATE", certificate.rawData), key: await keyText(keys), der };
}
