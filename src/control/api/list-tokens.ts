import { create } from "@bufbuild/protobuf";
import {
  type ListTokensRequest,
  type ListTokensResponse,
  ListTokensResponseSchema,
} from "../../wire/gen/llmgw/v1/trust_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { stateOf, tokenToWire } from "../tokens/token-state.ts";

export function listTokens(
  { loop, clock }: Pick<ControlPlane, "loop" | "clock">,
  { all }: ListTokensRequest,
): ListTokensResponse {
  const now = clock.now();
  const tokens = loop.snapshot.tokens
    .filter((token) => all || stateOf(token, now) === "active")
    .toSorted((a, b) => a.createdAt - b.createdAt);
  return create(ListTokensResponseSchema, { tokens: tokens.map((token) => tokenToWire(token, now)) });
}
