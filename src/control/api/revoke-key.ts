import { create } from "@bufbuild/protobuf";
import type { ConnectError, HandlerContext } from "@connectrpc/connect";
import { KEY_PREFIX } from "../../core/client-key.ts";
import { assertNever } from "../../core/result.ts";
import {
  type RevokeKeyRequest,
  type RevokeKeyResponse,
  RevokeKeyResponseSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import { callerInWords } from "../caller.ts";
import type { ControlPlane } from "../control-plane.ts";
import { revokeKey, type WhichKey } from "../keys/key-change.ts";
import { keyToWire } from "../keys/key-set.ts";
import { noneInForce, severalBegin } from "./refusal.ts";

/** When this is answered, word of it is on its way to every router that is connected. */
export async function endKey(
  { loop, clock }: ControlPlane,
  { key: asked }: RevokeKeyRequest,
  context: HandlerContext,
): Promise<RevokeKeyResponse> {
  const now = clock.now();
  const who = callerInWords(context);
  const revoked = await loop.change((snapshot) => revokeKey(snapshot, asked, { now, who }));
  if (!revoked.ok) throw refusal(asked, revoked.error);
  return create(RevokeKeyResponseSchema, { key: keyToWire(revoked.value, now) });
}

function refusal(asked: string, which: WhichKey): ConnectError {
  switch (which.kind) {
    case "unknown":
      return noneInForce({ what: "client key", text: asked, isSecret: asked.startsWith(KEY_PREFIX) }, which);
    case "ambiguous":
      return severalBegin("client key", which.names);
    default:
      return assertNever(which);
  }
}
