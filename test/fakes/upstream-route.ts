import { profileName, replicaId } from "../../src/core/ids.ts";
import type { ModelRoute, ReplicaRoute } from "../../src/core/route.ts";

export interface Where {
  readonly port: number;
  readonly base?: string;
  /** PEM: it speaks TLS. */
  readonly ca?: string;
  readonly host?: string;
  readonly slots?: number;
  readonly engineModel?: string;
}

const endpoint = ({ port, base = "/v1", ca, host = "127.0.0.1", slots = 0 }: Where): ReplicaRoute => ({
  ...{ id: replicaId("upstream/cloud"), host, port, apiKey: "sk-of-the-upstream", slots },
  upstream: { base, tls: ca !== undefined, ca: ca ?? "" },
});

/** The model `big` leads to the endpoint. */
export function upstreamRoute({ engineModel, ...where }: Where): Partial<ModelRoute> {
  return {
    profile: profileName("upstream/cloud"),
    replicas: [endpoint(where)],
    ...(engineModel === undefined ? {} : { engineModel }),
  };
}
