import { create } from "@bufbuild/protobuf";
import type { RouteTable } from "../core/route.ts";
import { sameValue } from "../core/same-value.ts";
import {
  type RouteChanges,
  RouteChangesSchema,
  type RouteTable as WireRouteTable,
  RouteTableSchema,
} from "./gen/llmgw/v1/router_pb.js";
import { routeTableToWire } from "./routes.ts";
import { toUint32 } from "./scalar.ts";

/** What a router with the one table has to be told for the other. */
export function routeChanges(before: RouteTable, after: RouteTable): RouteChanges {
  const old = new Map(before.models.map((model) => [model.name, model]));
  const put = after.models.filter((model) => {
    const was = old.get(model.name);
    old.delete(model.name);
    return was === undefined || !sameValue(was, model);
  });
  return create(RouteChangesSchema, {
    base: toUint32(before.revision),
    revision: toUint32(after.revision),
    put: routeTableToWire({ ...after, models: put }).models,
    drop: [...old.keys()],
    cluster: after.cluster ?? "",
  });
}

/** The table with the changes; undefined when they are about another one. Models are in the order of their names, as always. */
export function withRouteChanges(table: WireRouteTable, changes: RouteChanges): WireRouteTable | undefined {
  if (table.revision !== changes.base) return undefined;
  const { revision, cluster } = changes;
  const models = new Map(table.models.map((model) => [model.name, model]));
  for (const name of changes.drop) models.delete(name);
  for (const model of changes.put) models.set(model.name, model);
  const sorted = [...models.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return create(RouteTableSchema, { revision, models: sorted, cluster });
}
