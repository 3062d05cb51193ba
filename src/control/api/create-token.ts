import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { type AccessToken, type TokenGrant, writeToken } from "../../core/access-token.ts";
import { isNodeName, nodeId, plus, millis } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { GRANTED_ROLES, isGrantedRole } from "../../core/roles.ts";
import {
  type CreateTokenRequest,
  type CreateTokenResponse,
  CreateTokenResponseSchema,
  type JoinGrant,
  type UserGrant,
} from "../../wire/gen/llmgw/v1/trust_pb.js";
import { callerInWords, callerName } from "../caller.ts";
import type { ControlPlane } from "../control-plane.ts";
import { mintToken } from "../tokens/mint-token.ts";
import { createToken } from "../tokens/token-change.ts";
import { tokenToWire } from "../tokens/token-state.ts";

/** Ten years: whoever wants it longer wants a certificate. */
const LONGEST_TTL_SECONDS = 3650 * 86_400;
const MOST_USES = 10_000;

/** Makes a token. Its owner's copy is in the answer and nowhere else. */
export async function makeToken(
  { loop, clock, enrolment, publicUrl }: ControlPlane,
  request: CreateTokenRequest,
  context: HandlerContext,
): Promise<CreateTokenResponse> {
  const grant = readGrant(request);
  const obstacle = grant.kind === "join" ? await enrolment?.obstacle() : undefined;
  if (obstacle !== undefined) throw new ConnectError(obstacle, Code.FailedPrecondition);
  const { secret, ...minted } = mintToken(grant.kind);
  const now = clock.now();
  const token: AccessToken = {
    ...minted,
    grant,
    createdAt: now,
    createdBy: callerName(context),
    expiresAt: plus(now, millis(request.ttlSeconds * 1000)),
    revokedAt: undefined,
  };
  const created = await loop.change((before) => createToken(before, token, { now, who: callerInWords(context) }));
  if (!created.ok) throw taken(grant);
  return create(CreateTokenResponseSchema, {
    token: tokenToWire(created.value, now),
    secret: writeToken({ secret, pin: enrolment?.pin() }),
    serverUrl: publicUrl?.() ?? "",
  });
}

function taken(grant: TokenGrant): ConnectError {
  const whose = grant.kind === "user" ? `of "${grant.name}" ` : "";
  return new ConnectError(
    `there is a token ${whose}already: revoke it first, or take another name`,
    Code.AlreadyExists,
  );
}

/** Throws with every problem of the request at once. */
function readGrant(request: CreateTokenRequest): TokenGrant {
  const grant = grantOf(request);
  const problems = [...(grant.ok ? [] : grant.error), ...ttlProblems(request.ttlSeconds)];
  if (grant.ok && problems.length === 0) return grant.value;
  throw new ConnectError(problems.join("\n"), Code.InvalidArgument);
}

function grantOf({ grant }: CreateTokenRequest): Result<TokenGrant, readonly string[]> {
  switch (grant.case) {
    case "join":
      return joinGrant(grant.value);
    case "user":
      return userGrant(grant.value);
    case undefined:
      return err(["it is not said what the token is for"]);
  }
}

function joinGrant({ node, uses }: JoinGrant): Result<TokenGrant, readonly string[]> {
  const problems = [
    ...(node === "" || isNodeName(node) ? [] : [`${JSON.stringify(node)} is no id of a node`]),
    ...(uses >= 1 && uses <= MOST_USES ? [] : [`uses takes a number from 1 to ${String(MOST_USES)}`]),
    ...(node !== "" && uses > 1 ? ["a token for one node has one use"] : []),
  ];
  if (problems.length > 0) return err(problems);
  return ok({ kind: "join", node: node === "" ? undefined : nodeId(node), uses, claims: [] });
}

function userGrant({ name, role }: UserGrant): Result<TokenGrant, readonly string[]> {
  const isName = isNodeName(name);
  if (isName && isGrantedRole(role)) return ok({ kind: "user", name, role });
  const shown = JSON.stringify(name);
  return err([
    ...(isName ? [] : [`a name is made of letters, digits, dots, dashes and underscores, not ${shown}`]),
    ...(isGrantedRole(role) ? [] : [`role takes one of ${GRANTED_ROLES.join(", ")}, not ${JSON.stringify(role)}`]),
  ]);
}

const ttlProblems = (seconds: number): readonly string[] =>
  seconds >= 1 && seconds <= LONGEST_TTL_SECONDS ? [] : ["a token is good for at least a second and at most ten years"];
