import {
  type AccessToken,
  SHOWN_SECRET_LENGTH,
  TOKEN_PREFIXES,
  type TokenGrant,
  type TokenText,
} from "../../core/access-token.ts";
import { randomSecret, sha256Of, shortId } from "../mint.ts";

/** A token that nobody can guess, and what may be kept of it. */
export type MintedToken = Pick<AccessToken, "id" | "prefix" | "sha256"> & {
  /** For its owner, once. */
  readonly secret: string;
};

export function mintToken(kind: TokenGrant["kind"]): MintedToken {
  const start = TOKEN_PREFIXES[kind];
  const secret = `${start}${randomSecret()}`;
  const prefix = secret.slice(0, start.length + SHOWN_SECRET_LENGTH);
  return { id: `token-${shortId()}`, secret, prefix, sha256: sha256Of(secret) };
}

/** The hash that a token is kept under: what it says of an authority is no secret and no part of it. */
export const hashOf = ({ secret }: TokenText): string => sha256Of(secret);
