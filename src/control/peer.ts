import { createContextKey } from "@connectrpc/connect";
import type { X509Certificate } from "node:crypto";

/** Who is at the other end of a connection, as far as the connection itself says. */
export type Peer =
  /** In this process. */
  | { readonly kind: "local" }
  /** Without TLS: nothing is proven. */
  | { readonly kind: "plain" }
  | {
      readonly kind: "tls";
      /** Its own first, then what it sent along; empty: none was shown. */
      readonly certificates: readonly X509Certificate[];
      /** Why the TLS library would not take them; undefined when it would. */
      readonly problem: string | undefined;
    };

export const PEER = createContextKey<Peer>({ kind: "local" }, { description: "the other end of the connection" });

/** Where a connection comes from. */
export interface Origin {
  /** IP address; "" for a caller in this process. */
  readonly address: string;
  /** A proxy in between says so: the address is the proxy's own. */
  readonly isForwarded: boolean;
}

export const ORIGIN = createContextKey<Origin>(
  { address: "", isForwarded: false },
  { description: "where the connection comes from" },
);
