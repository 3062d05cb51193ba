import type { HandlerContext } from "@connectrpc/connect";
import { factsOf } from "../pki/certificate.ts";
import { PEER } from "./peer.ts";

/** Who an admin call that was let in comes from, for the record. */
export function callerInWords({ requestHeader, values }: Pick<HandlerContext, "requestHeader" | "values">): string {
  const peer = values.get(PEER);
  const certificate = peer.kind === "tls" ? peer.certificates[0] : undefined;
  if (requestHeader.has("authorization") || certificate === undefined) return "the admin token";
  return `the certificate of ${factsOf(certificate).commonName}`;
}
