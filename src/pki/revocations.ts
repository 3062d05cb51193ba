// The library looks up metadata that this one makes, and fails without it.
import "reflect-metadata";
import { X509Certificate as SignerCertificate, X509Crl } from "@peculiar/x509";
import type { X509Certificate } from "node:crypto";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";
import { keyHash } from "./certificate.ts";
import { blocksOf } from "./pem.ts";
import { revocationKey } from "./roles.ts";

/**
 * The revoked certificates of every list in the text, as `revocationKey` names them. A list counts only with the signature of
 * one of the authorities: otherwise whoever can write the file could shut nodes out, or let them in again.
 */
export async function readRevocations(
  text: string,
  authorities: readonly X509Certificate[],
): Promise<Result<ReadonlySet<string>, string>> {
  const lists = blocksOf(text).filter(({ label }) => label === "X509 CRL" || label === "CRL");
  if (lists.length === 0) {
    return err(
      text.trim() === "" ? "is empty" : "holds no list of revoked certificates (no line -----BEGIN X509 CRL-----)",
    );
  }
  const revoked = new Set<string>();
  for (const { text: block } of lists) {
    const read = await readList(block, authorities);
    if (!read.ok) return read;
    for (const key of read.value) revoked.add(key);
  }
  return ok(revoked);
}

async function readList(
  block: string,
  authorities: readonly X509Certificate[],
): Promise<Result<readonly string[], string>> {
  try {
    const crl = new X509Crl(block.replaceAll("BEGIN CRL", "BEGIN X509 CRL").replaceAll("END CRL", "END X509 CRL"));
    for (const authority of authorities) {
      if (!(await isSignedBy(crl, authority))) continue;
      const hash = keyHash(authority);
      return ok(crl.entries.map(({ serialNumber }) => revocationKey(hash, serialNumber)));
    }
    return err(`holds a list of ${crl.issuer} that no trusted authority has signed`);
  } catch (error) {
    return err(`holds a list of revoked certificates that cannot be read: ${messageOf(error)}`);
  }
}

async function isSignedBy(crl: X509Crl, authority: X509Certificate): Promise<boolean> {
  try {
    return await crl.verify({ publicKey: new SignerCertificate(authority.raw).publicKey });
  } catch {
    // A key of another kind than the signature's.
    return false;
  }
}
