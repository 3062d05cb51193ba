import { create } from "@bufbuild/protobuf";
import type { AccessToken, TokenGrant } from "../../core/access-token.ts";
import type { Millis } from "../../core/ids.ts";
import { type Token, TokenSchema } from "../../wire/gen/llmgw/v1/trust_pb.js";
import { toText, toTimestamp } from "../../wire/scalar.ts";

export type TokenState = "active" | "used up" | "expired" | "revoked";

/** Nodes that a join token can still admit. */
export const usesLeft = (grant: TokenGrant): number =>
  grant.kind === "join" ? Math.max(0, grant.uses - grant.claims.length) : 0;

export function stateOf({ revokedAt, expiresAt, grant }: AccessToken, now: Millis): TokenState {
  if (revokedAt !== undefined) return "revoked";
  if (grant.kind === "join" && usesLeft(grant) === 0) return "used up";
  return expiresAt <= now ? "expired" : "active";
}

/** As operators see it: without its hash, which is nobody's business. */
export const tokenToWire = (token: AccessToken, now: Millis): Token =>
  create(TokenSchema, {
    id: token.id,
    kind: token.grant.kind,
    prefix: token.prefix,
    state: stateOf(token, now),
    createdAt: toTimestamp(token.createdAt),
    createdBy: toText(token.createdBy),
    expiresAt: toTimestamp(token.expiresAt),
    ...(token.revokedAt === undefined ? {} : { revokedAt: toTimestamp(token.revokedAt) }),
    ...grantToWire(token.grant),
  });

function grantToWire(grant: TokenGrant) {
  if (grant.kind === "user") return { name: grant.name, role: grant.role };
  return {
    node: grant.node ?? "",
    uses: grant.uses,
    usesLeft: usesLeft(grant),
    nodes: grant.claims.map(({ node }) => node).toSorted(),
  };
}
