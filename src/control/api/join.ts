import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { formatDuration } from "../../core/format.ts";
import { isNodeName, type Millis, millis, nodeId, type NodeId } from "../../core/ids.ts";
import { BACKDATED } from "../../pki/backdated.ts";
import { inWords } from "../../pki/certificate.ts";
import {
  type GetAuthoritiesResponse,
  GetAuthoritiesResponseSchema,
  type JoinRequest,
  type JoinResponse,
  JoinResponseSchema,
} from "../../wire/gen/llmgw/v1/join_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import type { Enrolment } from "../enrolment.ts";
import { ORIGIN } from "../peer.ts";
import { type Claiming, claimToken, UNKNOWN_TOKEN } from "../tokens/claim.ts";
import { joinHash } from "../tokens/token-door.ts";

/** Anybody may have them: who cannot tell the right ones by their hash has no use for them. */
export const getAuthorities = ({ enrolment }: ControlPlane): GetAuthoritiesResponse =>
  create(GetAuthoritiesResponseSchema, { authorities: enrolment?.authorities() ?? "" });

/** Admits a machine as a node: with a certificate, or by its token alone where nodes have none. */
export async function join(
  plane: ControlPlane,
  request: JoinRequest,
  { requestHeader, values }: Pick<HandlerContext, "requestHeader" | "values">,
): Promise<JoinResponse> {
  const { enrolment, loop, clock } = plane;
  const sha256 = joinHash(requestHeader.get("authorization"));
  // Whoever has no token is told that and nothing else, and has nothing parsed.
  if (!loop.snapshot.tokens.some((token) => token.sha256 === sha256)) throw denied(UNKNOWN_TOKEN);
  const node = nodeOf(request);
  const key = enrolment === undefined ? "" : await keyOf(enrolment, request, node);
  const claiming = { sha256, node, key, now: clock.now(), from: values.get(ORIGIN).address };
  const why = await firstRefusal(plane, request, claiming);
  if (why !== undefined) throw refusal(plane, node, why);
  // First the token: of two that come at once with one use left, only one may get a certificate.
  const claimed = await loop.change((before) => claimToken(before, claiming));
  if (!claimed.ok) throw refusal(plane, node, claimed.error);
  if (enrolment === undefined) return create(JoinResponseSchema);
  const certificate = await sign(plane, enrolment, { node, request: request.signingRequest });
  return create(JoinResponseSchema, { certificate, authorities: enrolment.authorities() });
}

const denied = (why: string): ConnectError => new ConnectError(why, Code.PermissionDenied);

/** What costs the token no use. */
async function firstRefusal(
  { loop, enrolment }: ControlPlane,
  request: JoinRequest,
  claiming: Claiming,
): Promise<string | undefined> {
  const admitted = claimToken(loop.snapshot, claiming);
  if (!admitted.ok) return admitted.error;
  return clockProblem(request, claiming.now) ?? (await enrolment?.obstacle());
}

/** Of a token that is known: operators hear of it too. */
function refusal({ loop }: ControlPlane, node: NodeId, why: string): ConnectError {
  loop.report({ level: "warning", subjectKind: "node", subject: node, reason: "NodeRefused", message: why });
  return denied(why);
}

function nodeOf({ nodeId: name }: JoinRequest): NodeId {
  if (isNodeName(name)) return nodeId(name);
  throw new ConnectError(`${JSON.stringify(name.slice(0, 300))} is no id of a node`, Code.InvalidArgument);
}

const MINUTE_MS = 60_000;

/** A certificate is backdated by so much; a clock that is further off would not take it, or would keep it too long. */
function clockProblem({ clock }: JoinRequest, now: Millis): string | undefined {
  if (clock === undefined) return undefined;
  const off = millis(timestampMs(clock) - now);
  if (Math.abs(off) <= BACKDATED) return undefined;
  const far = `${formatDuration(Math.round(Math.abs(off) / MINUTE_MS) * MINUTE_MS)} ${off > 0 ? "ahead of" : "behind"} the control plane's`;
  return `the node's clock is ${far}, which says ${inWords(now)}: set the wrong one right and join again; the token is not used up`;
}

async function keyOf(enrolment: Enrolment, { signingRequest }: JoinRequest, node: NodeId): Promise<string> {
  const read = await enrolment.keyOf(node, signingRequest);
  if (read.ok) return read.value;
  throw new ConnectError(read.error, Code.InvalidArgument);
}

async function sign(
  { logger }: ControlPlane,
  enrolment: Enrolment,
  { node, request }: { readonly node: NodeId; readonly request: string },
): Promise<string> {
  try {
    return await enrolment.sign(node, request);
  } catch (error) {
    logger.error({ err: error, node }, "a node's certificate could not be signed");
    throw new ConnectError(
      "the certificate could not be signed, and the control plane's log says why; the token is used up unless the same key asks again",
      Code.Internal,
    );
  }
}
