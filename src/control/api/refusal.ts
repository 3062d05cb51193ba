import { Code, ConnectError } from "@connectrpc/connect";
import { didYouMean } from "../../core/nearest.ts";
import type { OrderRefusal } from "../replica-change.ts";

/** A refusal as the admin API answers it. */
export const refusalError = (refusal: OrderRefusal): ConnectError =>
  refusal.kind === "refused"
    ? new ConnectError(refusal.why, Code.FailedPrecondition)
    : unknownName(refusal.what, refusal.name, refusal.known);

export const unknownName = (what: string, name: string, known: readonly string[]): ConnectError =>
  new ConnectError(`there is no ${what} "${name}".${didYouMean(name, known)}`, Code.NotFound);

/** Something that can be named by the beginning of its secret too. */
interface Asked {
  readonly what: string;
  readonly text: string;
  /** The text may be a whole secret: it is not said back. */
  readonly isSecret: boolean;
}

/** None that is in force goes by that name. */
export function noneInForce(
  { what, text, isSecret }: Asked,
  { known, wasRevoked }: { readonly known: readonly string[]; readonly wasRevoked: boolean },
): ConnectError {
  const shown = isSecret ? "that begins so" : JSON.stringify(text);
  const before = wasRevoked ? " in force: it was revoked before" : "";
  const near = isSecret ? "" : didYouMean(text, known);
  return new ConnectError(`there is no ${what} ${shown}${before}.${near}`, Code.NotFound);
}

export const severalBegin = (what: string, names: readonly string[]): ConnectError =>
  new ConnectError(`several ${what}s begin so: ${names.join(", ")}`, Code.InvalidArgument);
