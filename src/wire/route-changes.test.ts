import { toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { profileName, replicaId } from "../core/ids.ts";
import type { ModelRoute, RouteTable } from "../core/route.ts";
import { RouteTableSchema } from "./gen/llmgw/v1/router_pb.js";
import { routeChanges, withRouteChanges } from "./route-changes.ts";
import { routeTableToWire } from "./routes.ts";

const model = (name: string, ports: readonly number[]): ModelRoute => ({
  ...{ name, profile: profileName(name), created: 1, waitingFor: "", waitSeconds: 0 },
  replicas: ports.map((port) => ({
    ...{ id: replicaId(`${name}-${String(port)}`), host: "127.0.0.1", port, apiKey: "k", slots: 1 },
  })),
});

const anyTable = (revision: number): fc.Arbitrary<RouteTable> =>
  fc
    .record({
      names: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e")),
      ports: fc.array(fc.nat({ max: 2 }), { maxLength: 2 }),
      cluster: fc.constantFrom("", "c1"),
    })
    .map(({ names, ports, cluster }) => ({
      ...{ revision, cluster },
      models: names.toSorted().map((name) => model(name, ports)),
    }));

test("a router with the changes has the table that it would have been sent whole", () => {
  fc.assert(
    fc.property(anyTable(1), anyTable(2), (before, after) => {
      const found = withRouteChanges(routeTableToWire(before), routeChanges(before, after));
      if (found === undefined) throw new Error("the changes are to that very table");
      expect(toBinary(RouteTableSchema, found)).toEqual(toBinary(RouteTableSchema, routeTableToWire(after)));
    }),
  );
});

test("only what differs is told", () => {
  const before = { revision: 4, models: [model("a", [1]), model("b", [1]), model("c", [1])] };
  const after = { revision: 6, models: [model("a", [1]), model("c", [1, 2]), model("d", [1])] };
  const { base, revision, put, drop } = routeChanges(before, after);
  expect({ base, revision, put: put.map(({ name }) => name), drop }).toEqual({
    ...{ base: 4, revision: 6 },
    ...{ put: ["c", "d"], drop: ["b"] },
  });
});

test("changes to another table are no use", () => {
  const [before, after] = [
    { revision: 4, models: [] },
    { revision: 5, models: [model("a", [1])] },
  ];
  expect(withRouteChanges(routeTableToWire({ revision: 3, models: [] }), routeChanges(before, after))).toBeUndefined();
});
