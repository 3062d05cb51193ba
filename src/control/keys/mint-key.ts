import { KEY_PREFIX, SHOWN_KEY_LENGTH } from "../../core/client-key.ts";
import { sha256Of } from "../../platform/sha256.ts";
import { randomSecret, shortId } from "../mint.ts";

/** A key that nobody can guess, and what may be kept of it. */
export interface MintedKey {
  readonly id: string;
  /** For its owner, once. */
  readonly secret: string;
  readonly prefix: string;
  readonly sha256: string;
}

export function mintClientKey(): MintedKey {
  const secret = `${KEY_PREFIX}${randomSecret()}`;
  return { id: `key-${shortId()}`, secret, prefix: secret.slice(0, SHOWN_KEY_LENGTH), sha256: sha256Of(secret) };
}
