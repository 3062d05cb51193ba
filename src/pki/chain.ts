import type { X509Certificate } from "node:crypto";
import type { Millis } from "../core/ids.ts";
import { factsOf } from "./certificate.ts";

/** More than anyone builds; certificates that sign each other in a circle end here. */
const MOST_LINKS = 6;

/** From a certificate to one of the authorities that are trusted, both included. */
export type Path = readonly X509Certificate[];

/**
 * The way from the certificate over what its owner sent along to a trusted authority; undefined when there is none. Every
 * signature on it is checked, and every signer is an authority that is valid then; with `now` undefined, that was or will be valid at some time.
 */
export function pathToAuthority(
  [leaf, ...sent]: Path,
  trusted: readonly X509Certificate[],
  now: Millis | undefined,
): Path | undefined {
  if (leaf === undefined) return undefined;
  const search = (path: Path, last: X509Certificate): Path | undefined => {
    if (path.length > MOST_LINKS) return undefined;
    const root = trusted.find((candidate) => hasSigned(candidate, last, now));
    if (root !== undefined) return [...path, root];
    for (const next of sent) {
      if (path.includes(next) || !hasSigned(next, last, now)) continue;
      const found = search([...path, next], next);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return search([leaf], leaf);
}

function hasSigned(signer: X509Certificate, signed: X509Certificate, now: Millis | undefined): boolean {
  const { isAuthority, notBefore, notAfter } = factsOf(signer);
  if (!isAuthority || (now !== undefined && (now < notBefore || now > notAfter))) return false;
  return signed.checkIssued(signer) && signed.verify(signer.publicKey);
}
