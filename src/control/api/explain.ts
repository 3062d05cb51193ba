import { Code, ConnectError } from "@connectrpc/connect";
import { didYouMean } from "../../core/nearest.ts";
import type { ExplainRequest, ExplainResponse } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { explainName } from "../explain.ts";

export function explainPlace({ loop, routers, clock }: ControlPlane, { name }: ExplainRequest): ExplainResponse {
  const { snapshot } = loop;
  const inFlight = routers.inFlight.bind(routers);
  const known = { offer: loop.policy, inFlight, demands: loop.demands, monotonic: clock.monotonic() };
  const answer = explainName(snapshot, name, known);
  if (answer !== undefined) return answer;
  const names = [...snapshot.profiles.map(({ profile }) => profile.name), ...snapshot.replicas.map(({ id }) => id)];
  throw new ConnectError(`There is no profile or replica "${name}".${didYouMean(name, names)}`, Code.NotFound);
}
