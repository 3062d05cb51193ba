import { Code, ConnectError } from "@connectrpc/connect";
import { isOfKind, readToken } from "../../core/access-token.ts";
import type { NodeId } from "../../core/ids.ts";
import { isLoopback } from "../../config/ip.ts";
import { bearer } from "../authorise.ts";
import type { ControlPlane } from "../control-plane.ts";
import type { Origin, Peer } from "../peer.ts";
import { claimToken } from "./claim.ts";
import { hashOf } from "./mint-token.ts";

/** How an agent's connection came in. */
export interface Arrival {
  readonly peer: Peer;
  readonly origin: Origin;
  readonly authorization: string | null;
}

/** Why a stream that was let in must end now; undefined: it may go on. */
export type Refusal = () => ConnectError | undefined;

type Plane = Pick<ControlPlane, "loop" | "clock">;

/** Without certificates anyone on the network could say that it is a node: there a join token stands for it. */
export class TokenDoor {
  readonly #plane: Plane;

  constructor(plane: Plane) {
    this.#plane = plane;
  }

  /** Lets the node in, or throws the refusal in words. Whoever is on this machine needs no token. */
  async admit(node: NodeId, arrival: Arrival): Promise<Refusal> {
    if (isFromHere(arrival)) return () => undefined;
    const { loop, clock } = this.#plane;
    const sha256 = joinHash(arrival.authorization);
    const { address: from } = arrival.origin;
    const claimed = await loop.change((before) =>
      claimToken(before, { sha256, node, key: "", now: clock.now(), from }),
    );
    if (!claimed.ok) throw new ConnectError(claimed.error, Code.PermissionDenied);
    const { id } = claimed.value;
    return () => {
      const isInForce = loop.snapshot.tokens.some((token) => token.id === id && token.revokedAt === undefined);
      return isInForce ? undefined : new ConnectError("the node's join token was revoked", Code.PermissionDenied);
    };
  }
}

const isFromHere = ({ peer, origin }: Arrival): boolean =>
  peer.kind === "local" || (isLoopback(origin.address) && !origin.isForwarded);

/** The hash of the join token that the header shows; throws the refusal in words when it shows none. */
export function joinHash(authorization: string | null): string {
  const shown = bearer(authorization);
  if (shown === undefined) {
    throw new ConnectError(
      "a join token is needed, and none was shown: `llmgw ctl token create` makes one, for `llmgw agent join` or as join_token in agent.yaml",
      Code.Unauthenticated,
    );
  }
  const read = readToken(shown);
  if (read !== undefined && isOfKind(read, "join")) return hashOf(read);
  throw new ConnectError(
    "what was shown is no join token: was it copied whole? `llmgw ctl token create` makes another",
    Code.PermissionDenied,
  );
}
