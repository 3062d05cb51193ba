import { bracketed, hostAndPort } from "../../core/host-port.ts";
import type { ReplicaRoute, UpstreamEndpoint } from "../../core/route.ts";
import type { TcpAddress } from "../../platform/tcp.ts";

/**
 * How long a connection is kept that nobody uses. A new one costs round trips over a long way; what public endpoints stand
 * behind keeps one for a minute or more. One that was closed meanwhile is noticed, and the request is sent on another.
 */
export const IDLE_SECONDS_ELSEWHERE = 45;

/** Where the connections of a replica go, engine or upstream. */
export function addressOf({ host, port, tlsSha256, upstream }: ReplicaRoute): TcpAddress {
  if (upstream?.tls === true) return { host, port, tlsCa: upstream.ca };
  return { host, port, ...(tlsSha256 === undefined ? {} : { tlsSha256 }) };
}

const VERSION = "/v1";

/** A client's path and query as they are asked of the endpoint, whose own path stands for /v1. */
export function targetAt({ base }: UpstreamEndpoint, target: string): string {
  if (target.startsWith(`${VERSION}/`)) return base + target.slice(VERSION.length);
  // What is beside /v1 here is beside it there.
  return (base.endsWith(VERSION) ? base.slice(0, -VERSION.length) : base) + target;
}

/** The Host header: a port that goes without saying is not said, as certificates and virtual hosts expect. */
export function hostOf({ host, port, upstream }: ReplicaRoute): string {
  const usual = upstream === undefined ? undefined : upstream.tls ? 443 : 80;
  return port === usual ? bracketed(host) : hostAndPort(host, port);
}
