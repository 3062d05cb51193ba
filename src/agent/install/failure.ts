import type { FetchFailure } from "../../platform/fetch/download.ts";
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

/** One failure out of those of several sources, each already said to be whose. */
export function allFailed(engine: string, failures: readonly InstallFailure[]): InstallFailure {
  const message = `${engine} cannot be installed: ${failures.map((failure) => failure.message).join("; ")}`;
  const first = failures.find((failure) => failure.retry) ?? failures.at(-1);
  return failed(first?.kind ?? "no-build", message);
}
