import type { GrantedRole } from "../core/roles.ts";
import { plainSerial } from "./certificate.ts";

/** The organization in the certificate of whoever may call the admin API, or be a router. */
export const ORGANIZATION_OF: Readonly<Record<GrantedRole, string>> = {
  viewer: "llmgw:viewers",
  operator: "llmgw:operators",
  admin: "llmgw:admins",
  router: "llmgw:routers",
};

/** The organization in certificates of nodes. It is not asked for: other makers of certificates do not know it. */
export const NODES = "llmgw:nodes";

/** The strongest role that a certificate of these organizations carries; undefined: none. */
export const roleIn = (organizations: readonly string[]): GrantedRole | undefined =>
  STRONGEST_FIRST.find((role) => organizations.includes(ORGANIZATION_OF[role]));

const STRONGEST_FIRST: readonly GrantedRole[] = ["admin", "operator", "viewer", "router"];

/** A serial number means something only together with the key that signed it. */
export const revocationKey = (issuerKeyHash: string, serial: string): string =>
  `${issuerKeyHash}:${plainSerial(serial)}`;
