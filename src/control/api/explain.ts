import { Code, ConnectError } from "@connectrpc/connect";
import { didYouMean } from "../../core/nearest.ts";
import type { ExplainRequest, ExplainResponse } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { upstreamNameOf } from "../../core/upstream.ts";
import type { Snapshot } from "../../store/store.ts";
import { explainName } from "../explain.ts";
import { explainUpstream } from "../upstreams/explain.ts";

export function explainPlace(plane: ControlPlane, { name }: ExplainRequest): ExplainResponse {
  const { loop, routers, clock } = plane;
  const { snapshot } = loop;
  const inFlight = routers.inFlight.bind(routers);
  const known = { offer: loop.policy, inFlight, demands: loop.demands, monotonic: clock.monotonic() };
  const answer = explainName(snapshot, name, known);
  if (answer !== undefined) return answer;
  const upstream = explainUpstream(plane, upstreamNameOf(name) ?? name);
  if (upstream !== undefined) return upstream;
  const { profiles, replicas, upstreams } = namesIn(snapshot);
  const hint = didYouMean(name, [...profiles, ...replicas, ...upstreams]);
  throw new ConnectError(`There is no profile, replica or upstream "${name}".${hint}`, Code.NotFound);
}

const namesIn = ({ profiles, replicas, upstreams }: Snapshot) => ({
  profiles: profiles.map(({ profile }) => profile.name),
  replicas: replicas.map(({ id }) => id),
  upstreams: upstreams.map(({ upstream }) => upstream.name),
});
