import type { ErrorCode } from "../core/errors.ts";

/** Why a request cannot be put into the words of another API. */
export interface Objection {
  readonly code: ErrorCode;
  /** For people: what is wrong and what to do. */
  readonly message: string;
  /** The path of the field that is at fault. */
  readonly param: string;
}

/** Keeps the first thing that is wrong with a request while it is read to its end. */
export class Objections {
  first: Objection | undefined;

  /** `param`: the field's path, as clients of the API write it. */
  raise(param: string, message: string, code: ErrorCode = "BAD_REQUEST"): void {
    this.first ??= { code, message: `${param}: ${message}`, param };
  }
}
