import type { Millis, NodeId } from "./ids.ts";
import type { GrantedRole } from "./roles.ts";

/** A node that a join token has admitted. */
export interface TokenClaim {
  readonly node: NodeId;
  /** Hash of the key that the node's certificate was made for; "" where nodes have no certificates. */
  readonly key: string;
  readonly at: Millis;
  /** The node was deleted: it is admitted by this no more. */
  readonly ended?: true;
}

/** What a token is good for. */
export type TokenGrant =
  | {
      readonly kind: "join";
      /** Undefined: any node. */
      readonly node: NodeId | undefined;
      /** How many nodes it admits. */
      readonly uses: number;
      readonly claims: readonly TokenClaim[];
    }
  | { readonly kind: "user"; readonly name: string; readonly role: GrantedRole };

/** A token, without its secret: of that only the SHA-256 is kept. */
export interface AccessToken {
  readonly id: string;
  /** Its first characters, to recognise it by. */
  readonly prefix: string;
  /** In lower-case hex, of the token without the pin. */
  readonly sha256: string;
  readonly grant: TokenGrant;
  readonly createdAt: Millis;
  readonly createdBy: string;
  readonly expiresAt: Millis;
  readonly revokedAt: Millis | undefined;
}

/** What each kind begins with, so that people and scanners for leaked secrets recognise it. */
export const TOKEN_PREFIXES: Readonly<Record<TokenGrant["kind"], string>> = {
  join: "llmgw-join-",
  user: "llmgw-user-",
};

/** So much beyond the prefix may be shown: enough to recognise it by, and too little to be of use. */
const SHOWN_SECRET_LENGTH = 6;

/** A token as it was typed: what is secret, and the authority that it vouches for. */
export interface TokenText {
  readonly secret: string;
  /** SHA-256 of the authority's public key, base64url; undefined: it vouches for none. */
  readonly pin: string | undefined;
}

const FORM = /^(llmgw-(?:join|user)-[0-9A-Za-z]{20,100})(?:\.([0-9A-Za-z_-]{43}))?$/;

/** Undefined: it is neither a join token nor a user's. */
export function readToken(text: string): TokenText | undefined {
  const [, secret, pin] = FORM.exec(text.trim()) ?? [];
  return secret === undefined ? undefined : { secret, pin };
}

/** The beginning of a token, without its pin, that may be shown: secrets are letters and digits alone. */
export const shownStart = (secret: string): string =>
  secret.slice(0, secret.lastIndexOf("-") + 1 + SHOWN_SECRET_LENGTH);

export const writeToken = ({ secret, pin }: TokenText): string => (pin === undefined ? secret : `${secret}.${pin}`);

export const isOfKind = ({ secret }: TokenText, kind: TokenGrant["kind"]): boolean =>
  secret.startsWith(TOKEN_PREFIXES[kind]);
