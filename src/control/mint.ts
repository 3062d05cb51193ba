import { randomBytes, randomInt } from "node:crypto";
import { type ProfileName, type ReplicaId, replicaId } from "../core/ids.ts";

/** Short enough to type, long enough that two of a kind never meet. */
const ID_BYTES = 4;
const KEY_BYTES = 32;

/** A name and a secret key for a new replica. */
export const mintReplica = (profile: ProfileName): { readonly id: ReplicaId; readonly apiKey: string } => ({
  id: replicaId(`${profile}-${shortId()}`),
  apiKey: randomBytes(KEY_BYTES).toString("base64url"),
});

export const shortId = (): string => randomBytes(ID_BYTES).toString("hex");

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^43 is a little more than 2^256. */
const RANDOM_LENGTH = 43;

/** Letters and digits only: a double click selects it whole, and no shell, URL or header needs it quoted. */
export const randomSecret = (): string =>
  Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)] ?? "").join("");
