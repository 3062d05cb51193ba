import {
  type AccessToken,
  shownStart,
  TOKEN_PREFIXES,
  type TokenGrant,
  type TokenText,
} from "../../core/access-token.ts";
import { sha256Of } from "../../platform/sha256.ts";
import { randomSecret, shortId } from "../mint.ts";

/** A token that nobody can guess, and what may be kept of it. */
export type MintedToken = Pick<AccessToken, "id" | "prefix" | "sha256"> & {
  /** For its owner, once. */
  readonly secret: string;
};

export function mintToken(kind: TokenGrant["kind"]): MintedToken {
  const secret = `${TOKEN_PREFIXES[kind]}${randomSecret()}`;
  return { id: `token-${shortId()}`, secret, prefix: shownStart(secret), sha256: sha256Of(secret) };
}

/** The hash that a token is kept under: what it says of an authority is no secret and no part of it. */
export const hashOf = ({ secret }: TokenText): string => sha256Of(secret);
