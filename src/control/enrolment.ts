import type { NodeId } from "../core/ids.ts";
import type { Result } from "../core/result.ts";

/** How this control plane makes certificates for nodes. */
export interface Enrolment {
  /** The authorities that are trusted, in PEM. */
  authorities(): string;
  /** Hash of the authority that this control plane's own certificate comes from, base64url; undefined: it is none of them. */
  pin(): string | undefined;
  /** Why no certificate can be made here, in words; undefined: one can. */
  obstacle(): Promise<string | undefined>;
  /** A certificate in PEM for the key of the request. Rejects, in words, when it cannot be made. */
  sign(node: NodeId, request: string): Promise<string>;
  /** Revokes what was issued for the node and is in force. Resolves with how many there were; rejects, in words, when it cannot. */
  revoke(node: NodeId): Promise<number>;
  /** Hash of the request's key, or why the request is not one that could be signed for the node, in words. */
  keyOf(node: NodeId, request: string): Promise<Result<string, string>>;
}
