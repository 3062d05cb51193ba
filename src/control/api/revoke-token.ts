import { create } from "@bufbuild/protobuf";
import type { ConnectError, HandlerContext } from "@connectrpc/connect";
import { readToken } from "../../core/access-token.ts";
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
import { noneInForce, severalBegin } from "./refusal.ts";

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
  switch (which.kind) {
    case "unknown":
      return noneInForce({ what: "token", text: asked, isSecret: readToken(asked) !== undefined }, which);
    case "ambiguous":
      return severalBegin("token", which.ids);
    default:
      return assertNever(which);
  }
}
