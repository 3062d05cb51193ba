import { messageOf } from "../../core/errors.ts";
import type { FetchFailure } from "../../platform/fetch/download.ts";
import { isErrno } from "../../platform/files.ts";
import type { UnpackFailure } from "../../platform/unpack.ts";

/** Whether trying again by itself could help; what needs a person or a change is not tried again. */
const RETRY = {
  unreachable: true,
  "rate-limited": true,
  aborted: true,
  refused: false,
  "not-found": false,
  "no-build": false,
  checksum: false,
  "no-space": false,
  "bad-archive": false,
  "missing-library": false,
  "missing-tool": false,
  "does-not-run": false,
  "unknown-engine": false,
} as const satisfies Record<string, boolean>;

export type InstallFailureKind = keyof typeof RETRY;

/** Why there is no engine; the message is a sentence for people. */
export interface InstallFailure {
  readonly kind: InstallFailureKind;
  readonly message: string;
  readonly retry: boolean;
}

export const failed = (kind: InstallFailureKind, message: string): InstallFailure => ({
  kind,
  message,
  retry: RETRY[kind],
});

export const ABORTED = failed("aborted", "the installation was stopped");

const OF_FETCH: Readonly<Record<FetchFailure["kind"], InstallFailureKind>> = {
  auth: "refused",
  "not-found": "not-found",
  checksum: "checksum",
  "no-space": "no-space",
  stalled: "unreachable",
  http: "unreachable",
  network: "unreachable",
  refused: "refused",
  aborted: "aborted",
  "rate-limited": "rate-limited",
};

export const fetchFailed = ({ kind, message }: FetchFailure): InstallFailure => failed(OF_FETCH[kind], message);
export const unpackFailed = ({ kind, message }: UnpackFailure): InstallFailure => failed(kind, message);

/** What the file system's no means. Anything else that was thrown is a bug, and thrown on. */
export function fileSystemFailed(thrown: unknown, folder: string): InstallFailure {
  if (isErrno(thrown, "ENOSPC", "EDQUOT")) return failed("no-space", `the disk that holds ${folder} is full`);
  if (isErrno(thrown, "EACCES", "EPERM", "EROFS", "EIO", "ENOTDIR", "EEXIST", "ELOOP", "ENAMETOOLONG")) {
    return failed("refused", `engines cannot be installed in ${folder}: ${messageOf(thrown)}`);
  }
  throw thrown;
}

/** One failure out of several, the first being that of what was wished for. */
export function allFailed(engine: string, failures: readonly InstallFailure[]): InstallFailure {
  const message = `${engine} cannot be installed: ${failures.map((failure) => failure.message).join("; ")}`;
  const first = failures.find((failure) => failure.retry) ?? failures[0];
  return failed(first?.kind ?? "no-build", message);
}
