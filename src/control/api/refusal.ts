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
