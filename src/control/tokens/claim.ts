import type { AccessToken, TokenClaim } from "../../core/access-token.ts";
import type { Millis, NodeId } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { inWords } from "../../pki/certificate.ts";
import type { Snapshot } from "../../store/store.ts";
import type { Change } from "../manifest-change.ts";
import { describe, tokenEvent } from "./token-change.ts";
import { usesLeft } from "./token-state.ts";

/** A node that wants to be admitted by a token. */
export interface Claiming {
  readonly sha256: string;
  readonly node: NodeId;
  /** Hash of the key that a certificate is wanted for; "" where nodes have no certificates. */
  readonly key: string;
  readonly now: Millis;
  /** Where the connection comes from, for the record. */
  readonly from: string;
}

type JoinToken = AccessToken & { readonly grant: { readonly kind: "join" } };

/** Each says in a sentence why the token does not admit the node, or nothing. The first that speaks is the reason. */
type Rule = (token: JoinToken, claiming: Claiming, snapshot: Snapshot) => string | undefined;

/** Of a token that nobody here has made. */
export const UNKNOWN_TOKEN =
  "this control plane does not know the join token: was it copied whole, and made here? `llmgw ctl token create` makes another";

const HOW = "`llmgw ctl token create` makes another";

const RULES: readonly Rule[] = [
  ({ revokedAt }) => (revokedAt === undefined ? undefined : `the join token was revoked: ${HOW}`),
  ({ grant }, { node }) =>
    grant.node === undefined || grant.node === node
      ? undefined
      : `the join token is for the node ${grant.node}, and this one says that it is ${node}: call it ${grant.node} (--node-id, or node_id in agent.yaml), or make a token for ${node}`,
  (token, claiming) => {
    if (token.expiresAt > claiming.now || standsFor(token, claiming)) return undefined;
    return `the join token expired at ${inWords(token.expiresAt)}, and the control plane's clock says ${inWords(claiming.now)}: ${HOW}`;
  },
  (token, claiming) => {
    if (usesLeft(token.grant) > 0 || claimOf(token, claiming) !== undefined) return undefined;
    const whom = token.grant.claims.map(({ node }) => node).join(", ");
    return `the join token is used up, by ${whom}: ${HOW}`;
  },
  isTaken,
];

/** Whoever holds a token for any node must not get the name of one that is there. */
function isTaken(token: JoinToken, claiming: Claiming, { nodes }: Snapshot): string | undefined {
  const holder = nodes.find(({ id, liveness }) => id === claiming.node && liveness === "connected");
  if (holder === undefined || token.grant.node !== undefined || claimOf(token, claiming) !== undefined) {
    return undefined;
  }
  const { hostname, address } = holder.inventory;
  return `a node ${claiming.node} is connected already, from ${hostname} (${address}): give this one another name with --node-id, or make a token for exactly that one with --node ${claiming.node}`;
}

/** The same node may come again with the same key: its first answer may have been lost on the way. */
const claimOf = ({ grant }: JoinToken, { node, key }: Claiming): TokenClaim | undefined =>
  grant.claims.find((claim) => claim.node === node && claim.key === key && claim.ended !== true);

/** Without certificates the token stands for the node from then on, however old it is. */
const standsFor = (token: JoinToken, claiming: Claiming): boolean =>
  claiming.key === "" && claimOf(token, claiming) !== undefined;

/** Whether the token admits the node; takes one of its uses, unless the node has one already. */
export function claimToken(before: Snapshot, claiming: Claiming): Result<Change<AccessToken>, string> {
  const token = before.tokens.find(({ sha256 }) => sha256 === claiming.sha256);
  if (token === undefined || !isJoinToken(token)) {
    return err(UNKNOWN_TOKEN);
  }
  const why = firstRefusal(token, claiming, before);
  if (why !== undefined) return err(why);
  if (claimOf(token, claiming) !== undefined) return ok({ snapshot: before, events: [], answer: token });
  const { node, key, now, from } = claiming;
  const grant = { ...token.grant, claims: [...token.grant.claims, { node, key, at: now }] };
  const claimed: AccessToken = { ...token, grant };
  const tokens = before.tokens.map((one) => (one.id === token.id ? claimed : one));
  const message = `${describe(token)} admitted the node ${node}${from === "" ? "" : ` from ${from}`}`;
  const events = [tokenEvent(token, "TokenUsed", message)];
  return ok({ snapshot: { ...before, tokens }, events, answer: claimed });
}

const isJoinToken = (token: AccessToken): token is JoinToken => token.grant.kind === "join";

function firstRefusal(token: JoinToken, claiming: Claiming, snapshot: Snapshot): string | undefined {
  for (const rule of RULES) {
    const why = rule(token, claiming, snapshot);
    if (why !== undefined) return why;
  }
  return undefined;
}
