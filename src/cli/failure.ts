import { Code, ConnectError } from "@connectrpc/connect";
import { ERRORS, type ErrorCode, LlmgwError, messageOf } from "../core/errors.ts";
import type { Io } from "./io.ts";

/** What an answer of the admin API means for a person at a shell. Every code is listed, so none becomes "a bug" by accident. */
const FROM_CONNECT: Readonly<Record<Code, ErrorCode>> = {
  [Code.Canceled]: "FAILED",
  [Code.Unknown]: "FAILED",
  [Code.InvalidArgument]: "BAD_CONFIG",
  [Code.DeadlineExceeded]: "WAIT_TIMEOUT",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "CONFLICT",
  [Code.PermissionDenied]: "FORBIDDEN",
  [Code.ResourceExhausted]: "FAILED",
  [Code.FailedPrecondition]: "CONFLICT",
  [Code.Aborted]: "UNREACHABLE",
  [Code.OutOfRange]: "BAD_CONFIG",
  [Code.Unimplemented]: "FAILED",
  [Code.Internal]: "FAILED",
  [Code.Unavailable]: "UNREACHABLE",
  [Code.DataLoss]: "FAILED",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
};

/** The one funnel at the top of the program. */
export function failureOf(thrown: unknown): LlmgwError {
  if (thrown instanceof ConnectError) {
    return new LlmgwError(FROM_CONNECT[thrown.code], thrown.rawMessage, { cause: thrown });
  }
  return LlmgwError.from(thrown);
}

/** Codes in `{"error":{"code",…}}` are the table's names in lower case: not_found, unreachable, wait_timeout, … */
const wireCode = (code: ErrorCode): string => code.toLowerCase();

/** Prints the failure on stderr, as one JSON object when JSON was asked for, and answers the exit code. */
export function reportFailure(thrown: unknown, io: Io, json: boolean): number {
  const failure = failureOf(thrown);
  if (json) {
    io.stderr.write(`${JSON.stringify({ error: { code: wireCode(failure.code), message: failure.message } })}\n`);
  } else {
    io.stderr.write(`llmgw: ${failure.message}\n`);
    // A bug needs more than a sentence.
    if (failure.code === "INTERNAL") io.stderr.write(`${stackOf(failure.cause)}\n`);
  }
  return ERRORS[failure.code].exit;
}

const stackOf = (thrown: unknown): string =>
  thrown instanceof Error && thrown.stack !== undefined ? thrown.stack : messageOf(thrown);

/** Looked for before anything is parsed, because a wrong flag must be answered in JSON too. */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const words = end === -1 ? argv : argv.slice(0, end);
  return words.some(
    (word, at) =>
      word === "-ojson" ||
      word === "--output=json" ||
      ((word === "-o" || word === "--output") && words[at + 1] === "json"),
  );
}
