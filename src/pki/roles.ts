import { plainSerial } from "./certificate.ts";

/** The organization in the certificate of one who may call the admin API. */
export const ADMINS = "llmgw:admins";
/** The organization in certificates of nodes. It is not asked for: other makers of certificates do not know it. */
export const NODES = "llmgw:nodes";

/** A serial number means something only together with the key that signed it. */
export const revocationKey = (issuerKeyHash: string, serial: string): string =>
  `${issuerKeyHash}:${plainSerial(serial)}`;
