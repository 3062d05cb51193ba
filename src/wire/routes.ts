import { create } from "@bufbuild/protobuf";
import type { AdapterCall } from "../core/adapter.ts";
import { isEngineApi } from "../core/engine-api.ts";
import { profileName, replicaId } from "../core/ids.ts";
import type { AliasRoute, ModelRoute, ReplicaRoute, RouteTable, UpstreamEndpoint } from "../core/route.ts";
import {
  type AdapterCall as WireAdapterCall,
  AdapterCallSchema,
  type AliasRoute as WireAliasRoute,
  AliasRouteSchema,
  type ModelRoute as WireModelRoute,
  ModelRouteSchema,
  type ReplicaRoute as WireReplicaRoute,
  ReplicaRouteSchema,
  type RouteTable as WireRouteTable,
  RouteTableSchema,
  type UpstreamEndpoint as WireUpstreamEndpoint,
  UpstreamEndpointSchema,
} from "./gen/llmgw/v1/router_pb.js";
import { endpointFromWire, endpointToWire } from "./endpoint.ts";
import { toText, toUint32 } from "./scalar.ts";

export function routeTableToWire(table: RouteTable): WireRouteTable {
  return create(RouteTableSchema, {
    revision: toUint32(table.revision),
    models: table.models.map(modelToWire),
    cluster: table.cluster ?? "",
  });
}

/** Total: what a message leaves out is empty or 0. */
export function routeTableFromWire(message: WireRouteTable): RouteTable {
  const { revision, models, cluster } = message;
  return { revision, models: models.map(modelFromWire), ...(cluster === "" ? {} : { cluster }) };
}

function modelToWire(model: ModelRoute): WireModelRoute {
  return create(ModelRouteSchema, {
    name: model.name,
    profile: model.profile,
    replicas: model.replicas.map(replicaToWire),
    created: toUint32(model.created),
    waitingFor: toText(model.waitingFor),
    waitSeconds: toUint32(model.waitSeconds),
    holds: model.holds ?? false,
    engineModel: model.engineModel ?? "",
    parent: model.parent ?? "",
    calls: mapped(model.calls ?? {}, callToWire),
    ...(model.alias === undefined ? {} : { alias: aliasToWire(model.alias) }),
  });
}

function modelFromWire(message: WireModelRoute): ModelRoute {
  return {
    name: message.name,
    profile: profileName(message.profile),
    replicas: message.replicas.map(replicaFromWire),
    created: message.created,
    waitingFor: message.waitingFor,
    waitSeconds: message.waitSeconds,
    ...(message.holds ? { holds: true } : {}),
    ...(message.alias === undefined ? {} : { alias: aliasFromWire(message.alias) }),
    ...(message.engineModel === "" ? {} : { engineModel: message.engineModel }),
    ...(message.parent === "" ? {} : { parent: message.parent }),
    ...(Object.keys(message.calls).length === 0 ? {} : { calls: mapped(message.calls, callFromWire) }),
  };
}

const mapped = <T, U>(of: Readonly<Record<string, T>>, to: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [key, to(value)]));

const callToWire = ({ model, apis, fields }: AdapterCall): WireAdapterCall =>
  create(AdapterCallSchema, { model: model ?? "", apis: [...(apis ?? [])], fields: { ...fields } });

function callFromWire({ model, apis, fields }: WireAdapterCall): AdapterCall {
  const known = apis.filter(isEngineApi);
  return { ...(model === "" ? {} : { model }), ...(apis.length === 0 ? {} : { apis: known }), fields: { ...fields } };
}

const aliasToWire = ({ targets, fallback }: AliasRoute): WireAliasRoute =>
  create(AliasRouteSchema, { targets: targets.map((target) => ({ ...target })), fallback: [...fallback] });

const aliasFromWire = ({ targets, fallback }: WireAliasRoute): AliasRoute => ({
  targets: targets.map(({ model, weight }) => ({ model, weight })),
  fallback,
});

const replicaToWire = ({ upstream, ...replica }: ReplicaRoute): WireReplicaRoute =>
  create(ReplicaRouteSchema, {
    ...replica,
    ...endpointToWire(replica),
    slots: toUint32(replica.slots),
    apis: [...(replica.apis ?? [])],
    ...(upstream === undefined ? {} : { upstream: create(UpstreamEndpointSchema, upstream) }),
  });

/** What a newer control plane knows of an engine and this router does not is left out. */
function replicaFromWire({ id, apiKey, slots, apis, upstream, ...endpoint }: WireReplicaRoute): ReplicaRoute {
  const known = apis.filter(isEngineApi);
  return {
    id: replicaId(id),
    ...endpointFromWire(endpoint),
    apiKey,
    slots,
    ...(known.length === 0 ? {} : { apis: known }),
    ...(upstream === undefined ? {} : { upstream: upstreamFromWire(upstream) }),
  };
}

const upstreamFromWire = ({ base, tls, ca }: WireUpstreamEndpoint): UpstreamEndpoint => ({ base, tls, ca });
