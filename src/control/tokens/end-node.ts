import type { AccessToken, TokenGrant } from "../../core/access-token.ts";
import type { NewEvent } from "../../core/event.ts";
import type { NodeId } from "../../core/ids.ts";
import type { Snapshot } from "../../store/store.ts";
import type { Change } from "../manifest-change.ts";
import { describe, tokenEvent, type WrittenDown } from "./token-change.ts";
import { usesLeft } from "./token-state.ts";

type JoinGrant = Extract<TokenGrant, { readonly kind: "join" }>;

interface Ended {
  readonly token: AccessToken;
  readonly event: NewEvent;
  /** For whoever deletes the node. */
  readonly note: string;
}

/** What a node that is deleted was admitted by admits it no more. The answer tells of each token in a sentence. */
export function endNodeTokens(before: Snapshot, node: NodeId, order: WrittenDown): Change<readonly string[]> {
  const ended = before.tokens.flatMap((token) => endOne(token, node, order) ?? []);
  const byId = new Map(ended.map(({ token }) => [token.id, token]));
  return {
    snapshot: ended.length === 0 ? before : { ...before, tokens: before.tokens.map((one) => byId.get(one.id) ?? one) },
    events: ended.map(({ event }) => event),
    answer: ended.map(({ note }) => note),
  };
}

/** Undefined: the token has nothing to do with the node, or was revoked already. */
function endOne(token: AccessToken, node: NodeId, { now, who }: WrittenDown): Ended | undefined {
  const { grant, revokedAt } = token;
  if (grant.kind !== "join" || revokedAt !== undefined) return undefined;
  if (isItsAlone(grant, node)) {
    return {
      token: { ...token, revokedAt: now },
      event: tokenEvent(token, "TokenRevoked", `${describe(token)} was revoked with the node ${node} by ${who}`),
      note: `${describe(token)} was revoked`,
    };
  }
  if (!grant.claims.some((claim) => claim.node === node && claim.ended !== true)) return undefined;
  const claims = grant.claims.map((claim) => (claim.node === node ? { ...claim, ended: true as const } : claim));
  const left = usesLeft(grant) > 0 && token.expiresAt > now;
  const message = `${describe(token)} no longer stands for the node ${node}, deleted by ${who}`;
  return {
    token: { ...token, grant: { ...grant, claims } },
    event: tokenEvent(token, "TokenClaimEnded", message),
    note: `${describe(token)} admitted others too, and stays${left ? "; it still admits nodes, this one too if it has the token" : ""}`,
  };
}

/** Nobody else has come by it or can. */
const isItsAlone = (grant: JoinGrant, node: NodeId): boolean =>
  grant.node === node ||
  (usesLeft(grant) === 0 && grant.claims.length > 0 && grant.claims.every((claim) => claim.node === node));
