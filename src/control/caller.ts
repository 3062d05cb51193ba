import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { GrantedRole } from "../core/roles.ts";
import { ORIGIN } from "./peer.ts";

/** Who an admin call comes from, once it was let in. */
export interface Caller {
  /** As a sentence would call it: "the admin token", "alice (operator)". */
  readonly name: string;
  readonly role: GrantedRole;
}

/** Set by the gate. A handler that nobody guards sees one who may do nothing that is written down under a name. */
export const CALLER = createContextKey<Caller>(
  { name: "somebody unknown", role: "viewer" },
  { description: "who the call comes from" },
);

type Context = Pick<HandlerContext, "values">;

export const callerName = ({ values }: Context): string => values.get(CALLER).name;

/** Who and from where, for the record. */
export function callerInWords({ values }: Context): string {
  const { address, isForwarded } = values.get(ORIGIN);
  const from = address === "" ? "" : isForwarded ? ` through the proxy ${address}` : ` from ${address}`;
  return `${values.get(CALLER).name}${from}`;
}
