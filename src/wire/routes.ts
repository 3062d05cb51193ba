import { create } from "@bufbuild/protobuf";
import { isEngineApi } from "../core/engine-api.ts";
import { profileName, replicaId } from "../core/ids.ts";
import type { AliasRoute, ModelRoute, ReplicaRoute, RouteTable } from "../core/route.ts";
import {
  type AliasRoute as WireAliasRoute,
  AliasRouteSchema,
  type ModelRoute as WireModelRoute,
  ModelRouteSchema,
  type ReplicaRoute as WireReplicaRoute,
  ReplicaRouteSchema,
  type RouteTable as WireRouteTable,
  RouteTableSchema,
} from "./gen/llmgw/v1/router_pb.js";
import { endpointFromWire, endpointToWire } from "./endpoint.ts";
import { toText, toUint32 } from "./scalar.ts";

export function routeTableToWire(table: RouteTable): WireRouteTable {
  return create(RouteTableSchema, { revision: toUint32(table.revision), models: table.models.map(modelToWire) });
}

/** Total: what a message leaves out is empty or 0. */
export function routeTableFromWire(message: WireRouteTable): RouteTable {
  return { revision: message.revision, models: message.models.map(modelFromWire) };
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
  };
}

const aliasToWire = ({ targets, fallback }: AliasRoute): WireAliasRoute =>
  create(AliasRouteSchema, { targets: targets.map((target) => ({ ...target })), fallback: [...fallback] });

const aliasFromWire = ({ targets, fallback }: WireAliasRoute): AliasRoute => ({
  targets: targets.map(({ model, weight }) => ({ model, weight })),
  fallback,
});

const replicaToWire = (replica: ReplicaRoute): WireReplicaRoute =>
  create(ReplicaRouteSchema, {
    ...replica,
    ...endpointToWire(replica),
    slots: toUint32(replica.slots),
    apis: [...(replica.apis ?? [])],
  });

/** What a newer control plane knows of an engine and this router does not is left out. */
function replicaFromWire({ id, apiKey, slots, apis, ...endpoint }: WireReplicaRoute): ReplicaRoute {
  const known = apis.filter(isEngineApi);
  return {
    id: replicaId(id),
    ...endpointFromWire(endpoint),
    apiKey,
    slots,
    ...(known.length === 0 ? {} : { apis: known }),
  };
}
