import type { AdapterCall } from "./adapter.ts";
import type { EngineApi } from "./engine-api.ts";
import type { ProfileName, ReplicaId } from "./ids.ts";

/** Where requests for a name may go. */
export interface ReplicaRoute {
  readonly id: ReplicaId;
  readonly host: string;
  readonly port: number;
  /** It speaks TLS, with the certificate of this SHA-256, in lower-case hex. Left out: plain HTTP. */
  readonly tlsSha256?: string;
  /** The engine's own key. Never shown, never logged. */
  readonly apiKey: string;
  /** Requests that the engine works on at once; 0 unknown. */
  readonly slots: number;
  /** What it can be asked for. Left out: not known; then it is asked as the client asked. */
  readonly apis?: readonly EngineApi[];
  /** It is no engine of ours. */
  readonly upstream?: UpstreamEndpoint;
}

/** How an endpoint that llmgw does not run is spoken to. */
export interface UpstreamEndpoint {
  /** The path that stands for the /v1 of what clients ask for, without a slash at its end. */
  readonly base: string;
  readonly tls: boolean;
  /** PEM: whose certificates it may show. "": those that the runtime trusts. */
  readonly ca: string;
}

export interface ModelRoute {
  readonly name: string;
  readonly profile: ProfileName;
  readonly replicas: readonly ReplicaRoute[];
  /** Unix seconds. */
  readonly created: number;
  /** Without a ready replica: what is being waited for, and an estimate in seconds (0 unknown). */
  readonly waitingFor: string;
  readonly waitSeconds: number;
  /** Without a ready replica a request is held until there is one: replicas come with the load. Left out: it is refused. */
  readonly holds?: boolean;
  /** Others answer for it, and it has no replicas of its own. */
  readonly alias?: AliasRoute;
  /** What its replicas call it. Left out: the same. */
  readonly engineModel?: string;
  /** It is an adapter of the model of that name. */
  readonly parent?: string;
  /** Of replicas that were started with adapters, how each is asked for this name, by id. */
  readonly calls?: Readonly<Record<string, AdapterCall>>;
}

/** The models that answer for a name, each by a name that it is served under. */
export interface AliasRoute {
  readonly targets: readonly { readonly model: string; readonly weight: number }[];
  readonly fallback: readonly string[];
}

export interface RouteTable {
  readonly revision: number;
  readonly models: readonly ModelRoute[];
  /** What a request carries that these control planes' routers sent elsewhere. Left out: not known. */
  readonly cluster?: string;
}
