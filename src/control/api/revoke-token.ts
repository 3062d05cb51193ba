import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { readToken } from "../../core/access-token.ts";
import { didYouMean } from "../../core/nearest.ts";
import { assertNever } from "../../core/result.ts";
import {
  type RevokeTokenRequest,
  type RevokeTokenResponse,
  RevokeTokenResponseSchema,
} from "../../wire/gen/llmgw/v1/trust_pb.js";
import { callerInWords } from "../caller.ts";
import type { ControlPlane } from "../control-plane.ts";
import { revokeToken, type WhichToken } from "../tokens/token-change.ts";
import { tokenToWire } from "../tokens/token-state.ts";

/** When this is answered, the token admits nobody and gives no more orders. */
export async function endToken(
  { loop, clock }: Pick<ControlPlane, "loop" | "clock">,
  { token: asked }: RevokeTokenRequest,
  context: HandlerContext,
): Promise<RevokeTokenResponse> {
  const now = clock.now();
  const who = callerInWords(context);
  const revoked = await loop.change((before) => revokeToken(before, asked, { now, who }));
  if (!revoked.ok) throw refusal(asked, revoked.error);
  return create(RevokeTokenResponseSchema, { token: tokenToWire(revoked.value, now) });
}

function refusal(asked: string, which: WhichToken): ConnectError {
  const isSecret = readToken(asked) !== undefined;
  switch (which.kind) {
    case "unknown": {
      const shown = isSecret ? "that begins so" : JSON.stringify(asked);
      const before = which.wasRevoked ? " in force: it was revoked before" : "";
      return new ConnectError(
        `there is no token ${shown}${before}.${isSecret ? "" : didYouMean(asked, which.known)}`,
        Code.NotFound,
      );
    }
    case "ambiguous":
      return new ConnectError(`several tokens begin so: ${which.ids.join(", ")}`, Code.InvalidArgument);
    default:
      return assertNever(which);
  }
}
