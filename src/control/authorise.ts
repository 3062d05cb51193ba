import { createHash, timingSafeEqual } from "node:crypto";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { ControlPlane } from "./control-plane.ts";
import type { Door } from "./door.ts";
import { type Peer, PEER } from "./peer.ts";

type CallHead = Pick<HandlerContext, "requestHeader" | "values">;

/** Refuses calls with neither the admin token nor a certificate of the admin role, before anything of the call is read. */
export function adminGate({
  adminToken,
  door,
}: Pick<ControlPlane, "adminToken" | "door">): (context: CallHead) => void {
  const expected = digest(adminToken);
  return ({ requestHeader, values }) => {
    const shown = bearer(requestHeader.get("authorization"));
    if (shown === undefined) {
      const certificate = certificateProblem(door, values.get(PEER));
      if (certificate === undefined) return;
      throw new ConnectError(
        `the admin token is missing: give --token, --token-file or LLMGW_TOKEN${certificate}`,
        Code.Unauthenticated,
      );
    }
    // Digests have one length, whatever was shown, and comparing them takes the same time.
    if (!timingSafeEqual(digest(shown), expected)) {
      throw new ConnectError(
        "the admin token is wrong: the right one is in admin-token in the server's data folder",
        Code.Unauthenticated,
      );
    }
  };
}

/** Undefined: the certificate stands for the token. Else what about it is to be told, "" when none was shown. */
function certificateProblem(door: Door | undefined, peer: Peer): string | undefined {
  if (door === undefined || peer.kind !== "tls" || peer.certificates.length === 0) return "";
  try {
    door.requireAdmin(peer);
    return undefined;
  } catch (error) {
    return `; ${ConnectError.from(error).rawMessage}`;
  }
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

const bearer = (header: string | null): string | undefined => /^Bearer +(\S+)\s*$/i.exec(header ?? "")?.[1];
