import { createHash } from "node:crypto";

/** Of what is in memory already, in lower-case hex. */
export const sha256Of = (data: Uint8Array | string): string => createHash("sha256").update(data).digest("hex");
