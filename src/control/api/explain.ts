import { Code, ConnectError } from "@connectrpc/connect";
import { didYouMean } from "../../core/nearest.ts";
import type { ExplainRequest, ExplainResponse } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { explainName } from "../explain.ts";

export function explainPlace({ loop, routers }: ControlPlane, { name }: ExplainRequest): ExplainResponse {
  const { snapshot } = loop;
  const inFlight = routers.inFlight.bind(routers);
  const answer = explainName(snapshot, name, { offer: loop.policy, inFlight });
  if (answer !== undefined) return answer;
  const known = [...snapshot.profiles.map(({ profile }) => profile.name), ...snapshot.replicas.map(({ id }) => id)];
  throw new ConnectError(`There is no profile or replica "${name}".${didYouMean(name, known)}`, Code.NotFound);
}
