import type { RouterOptions } from "../../src/run/router.ts";
import { Authority } from "./certificates.ts";
import { type Version, VersionClient } from "./versions-client.ts";

// A router that is spoken to in any version: what it shows over TLS, and a client that trusts it.

const authority = new Authority();
const shown = authority.issue({ commonName: "router", dns: ["localhost"], ips: ["127.0.0.1"] });
const isTls = (version: Version): boolean => version.includes("with TLS");

export const tlsFor = (version: Version): Pick<RouterOptions, "tls" | "http1"> => ({
  ...(isTls(version) ? { tls: shown } : {}),
  ...(version.includes("by Node") ? { http1: "node" as const } : {}),
});

export const clientOf = (version: Version, url: string): VersionClient =>
  new VersionClient(version, url, isTls(version) ? authority.ca : undefined);
