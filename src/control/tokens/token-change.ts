import type { AccessToken } from "../../core/access-token.ts";
import type { NewEvent } from "../../core/event.ts";
import type { Millis } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Snapshot } from "../../store/store.ts";
import type { Change } from "../manifest-change.ts";
import { stateOf } from "./token-state.ts";

/** A token that has been good for nothing for so long is asked about by nobody. */
const REMEMBERED_FOR = 90 * 86_400_000;

export interface WrittenDown {
  readonly now: Millis;
  /** Who ordered it, and from where. */
  readonly who: string;
}

/** Refused when a user of that name has a token in force. */
export function createToken(
  before: Snapshot,
  token: AccessToken,
  { now, who }: WrittenDown,
): Result<Change<AccessToken>, "taken"> {
  const { grant } = token;
  const isTaken = before.tokens.some(
    (one) => grant.kind === "user" && nameOf(one) === grant.name && stateOf(one, now) === "active",
  );
  if (isTaken) return err("taken");
  const kept = before.tokens.filter((one) => !isForgotten(one, now));
  const tokens = [...kept, token].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const event = tokenEvent(token, "TokenCreated", `${describe(token)} was created by ${who}`);
  return ok({ snapshot: { ...before, tokens }, events: [event], answer: token });
}

/** Nodes that have no certificate stay nodes by their token: such a one is kept for as long as it is not revoked. */
function isForgotten({ grant, expiresAt, revokedAt }: AccessToken, now: Millis): boolean {
  const stands =
    grant.kind === "join" &&
    revokedAt === undefined &&
    grant.claims.some(({ key, ended }) => key === "" && ended !== true);
  return !stands && (revokedAt ?? expiresAt) + REMEMBERED_FOR < now;
}

/** Why a token that somebody names cannot be told. */
export type WhichToken =
  | { readonly kind: "unknown"; readonly known: readonly string[]; readonly wasRevoked: boolean }
  | { readonly kind: "ambiguous"; readonly ids: readonly string[] };

/** `asked`: an id, a user's name, or the beginning of the token itself. */
export function revokeToken(
  before: Snapshot,
  asked: string,
  { now, who }: WrittenDown,
): Result<Change<AccessToken>, WhichToken> {
  const found = findToken(before, asked);
  if (!found.ok) return found;
  const revoked: AccessToken = { ...found.value, revokedAt: now };
  const tokens = before.tokens.map((token) => (token.id === revoked.id ? revoked : token));
  const event = tokenEvent(revoked, "TokenRevoked", `${describe(revoked)} was revoked by ${who}`);
  return ok({ snapshot: { ...before, tokens }, events: [event], answer: revoked });
}

function findToken({ tokens }: Snapshot, asked: string): Result<AccessToken, WhichToken> {
  const inForce = tokens.filter(({ revokedAt }) => revokedAt === undefined);
  const candidates = inForce.filter((token) => isMeant(token, asked));
  const [only, ...more] = candidates;
  if (only !== undefined && more.length === 0) return ok(only);
  if (candidates.length > 1) return err({ kind: "ambiguous", ids: candidates.map(({ id }) => id) });
  const known = inForce.map((token) => nameOf(token) ?? token.id);
  return err({ kind: "unknown", known, wasRevoked: tokens.some((token) => isMeant(token, asked)) });
}

/** People paste whole tokens, and parts of them. */
const isMeant = (token: AccessToken, asked: string): boolean =>
  token.id === asked || nameOf(token) === asked || (asked.length > LEAST_PREFIX && startsAlike(token.prefix, asked));

const LEAST_PREFIX = "llmgw-join-".length;
const startsAlike = (prefix: string, asked: string): boolean => prefix.startsWith(asked.slice(0, prefix.length));

const nameOf = ({ grant }: AccessToken): string | undefined => (grant.kind === "user" ? grant.name : undefined);

/** As a sentence would call it. */
export function describe({ grant, prefix, id }: AccessToken): string {
  if (grant.kind === "user") return `the token ${id} (${prefix}…) of ${grant.name} with the role ${grant.role}`;
  const whom = grant.node === undefined ? "" : ` for the node ${grant.node}`;
  return `the join token ${id} (${prefix}…)${whom}`;
}

export const tokenEvent = (token: AccessToken, reason: string, message: string): NewEvent => ({
  level: "info",
  subjectKind: "token",
  subject: nameOf(token) ?? token.id,
  reason,
  message,
});
