import { type ListenAddress, writeListen } from "../config/listen.ts";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { isErrno } from "../platform/files.ts";

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program has this port",
  EACCES: "this user may not open this port",
  EADDRNOTAVAIL: "this machine has no such address",
};

/** Why a port could not be opened, with the key of the configuration that names it. */
export function listenError(error: unknown, address: ListenAddress, key: string): LlmgwError {
  const known = isErrno(error, ...Object.keys(REASONS)) ? REASONS[error.code ?? ""] : undefined;
  const why = known ?? messageOf(error);
  return new LlmgwError("FAILED", `${key}: cannot listen on ${writeListen(address)}: ${why}`, { cause: error });
}
