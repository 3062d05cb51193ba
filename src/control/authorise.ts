import { createHash, timingSafeEqual } from "node:crypto";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { isOfKind, readToken } from "../core/access-token.ts";
import { assertNever } from "../core/result.ts";
import { mayDo } from "../core/roles.ts";
import { inWords } from "../pki/certificate.ts";
import { leastRole } from "./access.ts";
import { CALLER, type Caller } from "./caller.ts";
import type { ControlPlane } from "./control-plane.ts";
import { PEER } from "./peer.ts";
import { hashOf } from "./tokens/mint-token.ts";
import { stateOf } from "./tokens/token-state.ts";

type CallHead = Pick<HandlerContext, "requestHeader" | "values" | "method">;

/** What the gate must know of the control plane. */
export type Guarded = Pick<ControlPlane, "adminToken" | "door" | "clock"> & {
  readonly loop: { readonly snapshot: Pick<ControlPlane["loop"]["snapshot"], "tokens"> };
};

/**
 * Refuses calls of nobody, and of somebody whose role is too low, before anything of the call is read. Who it is stays in the
 * call's context.
 */
export function callerGate(plane: Guarded): (context: CallHead) => void {
  const identify = identifier(plane);
  return (context) => {
    const caller = identify(context);
    const least = leastRole(context.method);
    if (!mayDo(caller.role, least)) {
      const reason = `${caller.name} may not call ${context.method.name}: that wants the role ${least}`;
      throw new ConnectError(`${reason}; an admin gives it with \`llmgw ctl token create\``, Code.PermissionDenied);
    }
    context.values.set(CALLER, caller);
  };
}

function identifier(plane: Guarded): (context: CallHead) => Caller {
  const expected = digest(plane.adminToken);
  return ({ requestHeader, values }) => {
    const shown = bearer(requestHeader.get("authorization"));
    if (shown === undefined) return byCertificate(plane, values);
    // Digests have one length, whatever was shown, and comparing them takes the same time.
    if (timingSafeEqual(digest(shown), expected)) return { name: "the admin token", role: "admin" };
    return byToken(plane, shown);
  };
}

function byCertificate({ door }: Guarded, values: CallHead["values"]): Caller {
  const peer = values.get(PEER);
  const isShown = door !== undefined && peer.kind === "tls" && peer.certificates.length > 0;
  try {
    if (isShown) {
      const { name, role } = door.roleOf(peer);
      return { name: `the certificate of ${name} (${role})`, role };
    }
  } catch (error) {
    throw missing(`; ${ConnectError.from(error).rawMessage}`);
  }
  throw missing("");
}

const missing = (certificate: string): ConnectError =>
  new ConnectError(
    `the admin token is missing: give --token-file or LLMGW_TOKEN, or log in with \`llmgw ctl login\`${certificate}`,
    Code.Unauthenticated,
  );

function byToken({ loop, clock }: Guarded, shown: string): Caller {
  const read = readToken(shown);
  if (read === undefined) {
    throw refused("the admin token is wrong: the right one is in admin-token in the server's data folder");
  }
  if (isOfKind(read, "join")) throw refused("this is a join token: it admits a node and gives no orders");
  const sha256 = hashOf(read);
  const token = loop.snapshot.tokens.find((one) => one.sha256 === sha256);
  if (token?.grant.kind !== "user") throw refused("the token is wrong: this control plane does not know it");
  const { name, role } = token.grant;
  const state = stateOf(token, clock.now());
  switch (state) {
    case "active":
    case "used up":
      return { name: `${name} (${role})`, role };
    case "revoked":
      throw refused(`the token of ${name} was revoked: ask an admin for another`);
    case "expired":
      throw refused(`the token of ${name} expired at ${inWords(token.expiresAt)}: ask an admin for another`);
    default:
      return assertNever(state);
  }
}

const refused = (why: string): ConnectError => new ConnectError(why, Code.Unauthenticated);

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** What stands behind "Bearer"; undefined: nothing does. */
export const bearer = (header: string | null): string | undefined => /^Bearer +(\S+)\s*$/i.exec(header ?? "")?.[1];
