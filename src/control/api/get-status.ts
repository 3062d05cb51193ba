import { create } from "@bufbuild/protobuf";
import { nodeState } from "../../core/node.ts";
import { gpusInUse } from "../../core/replica-state.ts";
import { upstreamId } from "../../core/upstream.ts";
import { VERSION } from "../../core/version.ts";
import { type GetStatusResponse, GetStatusResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { toText, toTimestamp } from "../../wire/scalar.ts";
import { attention } from "../attention.ts";
import type { ControlPlane } from "../control-plane.ts";
import { scalingSentences } from "../range-in-words.ts";
import { upstreamConcern } from "../upstreams/explain.ts";

export function getStatus(plane: ControlPlane): GetStatusResponse {
  const { loop, routers, startedAt, routerUrl, clock, upstreamSecrets } = plane;
  const { snapshot, liveness } = loop;
  const { nodes, replicas, profiles, upstreams, serverId } = snapshot;
  const engines = [...replicas.map(({ id }) => id), ...upstreams.map(({ upstream }) => upstreamId(upstream.name))];
  const troubles = upstreams.flatMap(({ upstream }) => upstreamConcern(upstream, upstreamSecrets));
  return create(GetStatusResponseSchema, {
    serverId,
    serverVersion: VERSION,
    startedAt: toTimestamp(startedAt),
    attention: [...attention(snapshot, liveness), ...troubles].map(toText),
    nodes: counts(nodes.map(nodeState)),
    replicas: counts(replicas.map(({ state }) => state.kind)),
    gpus: nodes.reduce((sum, { inventory }) => sum + inventory.gpus.length, 0),
    gpusInUse: gpusInUse(replicas).size,
    profiles: profiles.length,
    requestsInFlight: engines.reduce((sum, id) => sum + routers.inFlight(id), 0),
    routerUrl: routerUrl(),
    scaling: [...scalingSentences(snapshot, loop.demands, clock.monotonic())],
  });
}

/** How often each word is there. */
function counts(words: readonly string[]): Record<string, number> {
  const grouped = [...Map.groupBy(words, (word) => word)];
  return Object.fromEntries(grouped.map(([word, all]) => [word, all.length]));
}
