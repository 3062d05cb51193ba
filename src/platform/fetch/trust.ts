import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates } from "node:tls";
import type { FetchEnv } from "./proxy.ts";

/** Files that the tools around us take their authorities from; a company that set one of them meant it. */
const FILE_VARIABLES = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"];

/**
 * The certificate authorities that downloads trust, as PEM: Node's own, the system's store, and what the environment
 * names. Node's own store alone fails behind a proxy that signs with a company's certificate.
 */
export function trustedCertificates(env: FetchEnv): readonly string[] {
  const files = FILE_VARIABLES.flatMap((name) => env[name] ?? []);
  const folders = (env["SSL_CERT_DIR"] ?? "").split(":").filter((folder) => folder !== "");
  const named = [...files.flatMap(certificatesIn), ...folders.flatMap(certificatesInFolder)];
  return [...new Set([...getCACertificates("default"), ...getCACertificates("system"), ...named])];
}

function certificatesInFolder(folder: string): readonly string[] {
  try {
    return readdirSync(folder).flatMap((name) => certificatesIn(join(folder, name)));
  } catch {
    // A folder that is not there trusts nobody.
    return [];
  }
}

function certificatesIn(file: string): readonly string[] {
  try {
    if (!statSync(file).isFile()) return [];
    return readFileSync(file, "latin1").match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  } catch {
    return [];
  }
}
