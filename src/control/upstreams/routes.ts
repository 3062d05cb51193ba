import { hostOf } from "../../config/server-address.ts";
import { type Millis, profileName } from "../../core/ids.ts";
import type { Result } from "../../core/result.ts";
import type { ModelRoute, ReplicaRoute } from "../../core/route.ts";
import { type StoredUpstream, type Upstream, upstreamId } from "../../core/upstream.ts";
import type { UpstreamSecret } from "./secrets.ts";

export type SecretOf = (upstream: Upstream) => Result<UpstreamSecret, string>;

/** The models of upstreams, each with the endpoint in the place of a replica. */
export const upstreamRoutes = (upstreams: readonly StoredUpstream[], secretOf: SecretOf): readonly ModelRoute[] =>
  upstreams.flatMap(({ upstream, createdAt }) => routesOf(upstream, createdAt, secretOf(upstream)));

function routesOf(
  upstream: Upstream,
  createdAt: Millis,
  secret: Result<UpstreamSecret, string>,
): readonly ModelRoute[] {
  const replicas = secret.ok ? [replicaOf(upstream, secret.value)] : [];
  // Where files lie is no business of clients.
  const waitingFor = secret.ok ? "" : `a file that the upstream ${upstream.name} needs cannot be used`;
  return upstream.models.map(({ name, remote }) => ({
    name,
    profile: profileName(upstreamId(upstream.name)),
    replicas,
    created: Math.floor(createdAt / 1000),
    waitingFor,
    waitSeconds: 0,
    ...(remote === name ? {} : { engineModel: remote }),
  }));
}

function replicaOf({ name, url, concurrency = 0 }: Upstream, { key, ca }: UpstreamSecret): ReplicaRoute {
  const { protocol, port, pathname } = new URL(url);
  const tls = protocol === "https:";
  return {
    id: upstreamId(name),
    host: hostOf(url),
    port: port === "" ? (tls ? 443 : 80) : Number(port),
    apiKey: key,
    slots: concurrency,
    upstream: { base: pathname === "/" ? "/v1" : pathname.replace(/\/+$/, ""), tls, ca },
  };
}
