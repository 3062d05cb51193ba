import { createSecureContext } from "node:tls";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { readSecretFile } from "../platform/config-file.ts";

/** PEM texts. */
interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Reads a certificate and its key; a file that cannot be read is a fault of the configuration, and `where` its key there. */
export function readTlsPair({ cert, key }: TlsPair, where: string): TlsPair {
  const pair = { cert: readPem(cert, `${where}.cert`), key: readPem(key, `${where}.key`) };
  try {
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const why = messageOf(error);
    throw new LlmgwError("BAD_CONFIG", `${where}: ${cert} and ${key} cannot be used together: ${why}`, {
      cause: error,
    });
  }
}

function readPem(path: string, where: string): string {
  const read = readSecretFile(path);
  if (!read.ok) throw new LlmgwError("BAD_CONFIG", `${where}: ${read.error}`);
  if (read.value.includes("-----BEGIN ")) return read.value;
  throw new LlmgwError("BAD_CONFIG", `${where}: ${path} is not in PEM form`);
}
