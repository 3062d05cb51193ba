import { namedEvent } from "../sse/splitter.ts";

interface Failure {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
}

/**
 * The last event of a Responses stream that broke. Newer clients look at its type, older ones for an `error` in it, so it
 * has both.
 */
export function responsesErrorEvent({ message, type, code }: Failure, sequence: number): string {
  const error = { message, type, param: null, code };
  return namedEvent("error", { type: "error", sequence_number: sequence, code, message, param: null, error });
}
