import { createHash, randomBytes, randomInt } from "node:crypto";
import { KEY_PREFIX, SHOWN_KEY_LENGTH } from "../../core/client-key.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^43 is a little more than 2^256. */
const RANDOM_LENGTH = 43;
const ID_BYTES = 4;

/** A key that nobody can guess, and what may be kept of it. */
export interface MintedKey {
  readonly id: string;
  /** For its owner, once. */
  readonly secret: string;
  readonly prefix: string;
  readonly sha256: string;
}

/** Letters and digits only: a double click selects it whole, and no shell, URL or header needs it quoted. */
export function mintClientKey(): MintedKey {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)] ?? "").join("");
  const secret = `${KEY_PREFIX}${random}`;
  return {
    id: `key-${randomBytes(ID_BYTES).toString("hex")}`,
    secret,
    prefix: secret.slice(0, SHOWN_KEY_LENGTH),
    sha256: createHash("sha256").update(secret).digest("hex"),
  };
}
