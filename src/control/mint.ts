import { randomBytes } from "node:crypto";
import { type ProfileName, type ReplicaId, replicaId } from "../core/ids.ts";

/** Short enough to type, long enough that two replicas of a profile never meet. */
const ID_BYTES = 4;
const KEY_BYTES = 32;

/** A name and a secret key for a new replica. */
export const mintReplica = (profile: ProfileName): { readonly id: ReplicaId; readonly apiKey: string } => ({
  id: replicaId(`${profile}-${randomBytes(ID_BYTES).toString("hex")}`),
  apiKey: randomBytes(KEY_BYTES).toString("base64url"),
});
