import { Code, ConnectError, createContextKey } from "@connectrpc/connect";

/** Who is at the other end of a connection, as far as the connection itself says. */
export type Peer =
  /** In this process. */
  | { readonly kind: "local" }
  /** Without TLS: nothing is proven. */
  | { readonly kind: "plain" }
  | {
      readonly kind: "tls";
      /** Undefined: none was shown. */
      readonly certificate: { readonly commonName: string; readonly problem: string | undefined } | undefined;
    };

export const PEER = createContextKey<Peer>({ kind: "local" }, { description: "the other end of the connection" });

/** The name that the certificate proves. Refuses, in words, one that is missing or not valid. */
export function provenName(peer: Peer): string {
  const certificate = peer.kind === "tls" ? peer.certificate : undefined;
  if (certificate === undefined) {
    throw new ConnectError(
      "this control plane takes only nodes with a certificate: set tls: in agent.yaml",
      Code.Unauthenticated,
    );
  }
  if (certificate.problem !== undefined) {
    throw new ConnectError(
      `the certificate of ${certificate.commonName} is refused: ${certificate.problem}`,
      Code.Unauthenticated,
    );
  }
  return certificate.commonName;
}
