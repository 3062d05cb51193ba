import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { KEY_PREFIX } from "../../core/client-key.ts";
import { didYouMean } from "../../core/nearest.ts";
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
  // What was asked for may be a whole key.
  const shown = asked.startsWith(KEY_PREFIX) ? "that begins so" : JSON.stringify(asked);
  switch (which.kind) {
    case "unknown": {
      const before = which.wasRevoked ? " in force: it was revoked before" : "";
      const near = asked.startsWith(KEY_PREFIX) ? "" : didYouMean(asked, which.known);
      return new ConnectError(`there is no client key ${shown}${before}.${near}`, Code.NotFound);
    }
    case "ambiguous":
      return new ConnectError(`several client keys begin so: ${which.names.join(", ")}`, Code.InvalidArgument);
    default:
      return assertNever(which);
  }
}
