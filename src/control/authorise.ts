import { createHash, timingSafeEqual } from "node:crypto";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";

/** Refuses calls without the admin token, before anything of the call is read. */
export function adminGate(token: string): (context: Pick<HandlerContext, "requestHeader">) => void {
  const expected = digest(token);
  return ({ requestHeader }) => {
    const shown = bearer(requestHeader.get("authorization"));
    if (shown === undefined) {
      throw new ConnectError(
        "the admin token is missing: --token, LLMGW_TOKEN or `llmgw ctl login`",
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

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

const bearer = (header: string | null): string | undefined => /^Bearer +(\S+)\s*$/i.exec(header ?? "")?.[1];
